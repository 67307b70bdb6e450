#!/bin/sh
# Installs a Rookery worker for the user who runs it:
#   curl -fsSL @SERVER@/worker/install.sh | sh
# With an account, made ready to start:
#   curl -fsSL @SERVER@/worker/install.sh | ROOKERY_ACCOUNT=NAME:TOKEN ROOKERY_FINGERPRINT=@FINGERPRINT@ sh
# The fingerprint is that of the server's key, as the page "Add a machine" shows it.
set -eu
for python in python3 python3.14 python3.13 python3.12 python3.11 python; do
    if "$python" -c 'import sys, venv, ensurepip; sys.exit(sys.version_info < (3, 11))' 2>/dev/null; then
        exec "$python" - '@SERVER@' '@WHEEL@' '@SHA256@' '@KEY@' <<'PYTHON'
@INSTALLATION@
PYTHON
    fi
done
echo "install: Python 3.11 or newer with its venv module is needed and was not found (Debian: apt-get install python3-venv)." >&2
exit 1
