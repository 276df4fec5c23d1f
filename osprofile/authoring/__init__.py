"""Tools for those who write profiles: new ones, as text, compared, traced, in outline."""
