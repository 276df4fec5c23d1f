"""The IRI Facility API v2 over OS Profiles: `osprofile-facility`, see docs/facility.md."""
