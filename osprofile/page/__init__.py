"""The page for a site's users: what a profile offers, and a form that shows the script."""
