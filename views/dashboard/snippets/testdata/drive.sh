# Answers cases, one a line: secret|id|timestamp|signature|body in base64.
source "$1/verify.sh"
body=$(mktemp)
trap 'rm -f "$body"' EXIT
while IFS='|' read -r secret id timestamp signature text; do
  printf %s "$text" | openssl base64 -d -A >"$body"
  verify_webhook "$secret" "$id" "$timestamp" "$signature" "$body" && echo true || echo false
done
