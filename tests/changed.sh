# Print the test files of what changed since the last commit, or in it where nothing changed since.
# osprofile/jobs/store.py is tested by tests/jobs/test_store.py and tests/jobs/test_store_*.py.
set -eu
changed=$(git diff --name-only HEAD; git ls-files --others --exclude-standard)
[ "$changed" ] || changed=$(git diff --name-only HEAD~1 HEAD)
for file in $changed; do
  case $file in
    tests/lab/* | tests/browser/*) ;;  # they need a batch system, a browser
    tests/*/test_*.py | tests/test_*.py) ls "$file" 2> /dev/null || true ;;
    osprofile/*.py)
      module=${file#osprofile/} name=$(basename "$file" .py)
      ls "tests/$(dirname "$module")/test_$name.py" "tests/$(dirname "$module")/test_${name}_"*.py 2> /dev/null || true
      ;;
    profiles/*) echo tests/golden/test_bundled_profiles.py ;;
  esac
done | sort -u
