"""The parts of the manual that are generated when the site is built."""
