"""The parts of the manual that are made from the engine when the site is built."""
