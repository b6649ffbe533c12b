#!/bin/sh
# Write .env for docker-compose.yml: .env.example with a random value for each empty variable. Prints the API key, which is
# stored nowhere: .env has its SHA-256 only. An existing .env is never changed.
set -eu
cd "$(dirname "$0")/.."

random() { od -An -N"$1" -tx1 /dev/urandom | tr -d ' \n'; }

sha256() { if command -v sha256sum > /dev/null; then sha256sum; else shasum -a 256; fi | cut -d ' ' -f 1; }

refuse() {
  echo "$PWD/.env exists and is not changed: the volumes of the stores were created with its passwords" >&2
  exit 1
}

{ [ -e .env ] || [ -L .env ]; } && refuse
key=smb_$(random 32)
digest=$(printf %s "$key" | sha256)
partial=$(mktemp .env.XXXXXX) # which only its owner may read
trap 'rm -f "$partial"' EXIT
while IFS= read -r line; do
  case $line in
    SEMBLANCE_API_KEYS=) echo "${line}admin:read+write+admin:$digest" ;;
    *_PASSWORD=) echo "$line$(random 24)" ;;
    *) echo "$line" ;;
  esac
done < .env.example > "$partial"
ln "$partial" .env # unlike mv, it never replaces a file that has come meanwhile
echo "Wrote $PWD/.env, with random passwords and one API key, which is shown only now:"
echo "export SEMBLANCE_CLIENT_KEY=$key"
