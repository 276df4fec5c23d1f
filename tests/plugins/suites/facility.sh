#!/bin/sh
# The published clients of the facility's API, amsc-iri-v2 and iri-client, launch, follow, list and cancel jobs of a
# profile: facility.sh [PROFILE]
set -eu
cd "$(dirname -- "$0")/../../.."
FACILITY_PROFILE=${1:-linux} exec "${PYTHON:-python}" -m pytest -q tests/plugins/test_facility.py -k "launches or test_iri_client"
