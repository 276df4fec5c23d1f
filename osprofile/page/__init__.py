"""The page for a site's users: the fields and scripts of a profile, and a form that shows a script."""
