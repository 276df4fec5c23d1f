"""The two small languages inside a profile: bodies with replacements, and Java's regexes."""
