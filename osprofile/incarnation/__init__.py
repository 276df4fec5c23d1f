"""From a template, a request and a context to a text: what the engine is for."""
