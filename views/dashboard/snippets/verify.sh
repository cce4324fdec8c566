# Checks a webhook by hand, with openssl: save the request's body to a file,
# byte for byte, and give the values of its headers.
#
#   verify_webhook "$secret" "$webhook_id" "$webhook_timestamp" "$webhook_signature" body.json && echo genuine
verify_webhook() {
  local secret=$1 id=$2 timestamp=$3 signatures=$4 body=$5
  local now key expected nonce given
  [[ $timestamp =~ ^[1-9][0-9]{0,11}$ && $secret == whsec_* ]] || return 1
  now=$(date +%s)
  ((timestamp >= now - 300 && timestamp <= now + 300)) || return 1 # an old request, sent again by another party

  key=$(printf %s "${secret#whsec_}" | openssl base64 -d -A | od -An -v -tx1 | tr -d ' \n')
  expected=$({ printf '%s.%s.' "$id" "$timestamp" && cat "$body"; } |
    openssl dgst -sha256 -mac HMAC -macopt "hexkey:$key" -binary | openssl base64 -A)
  [[ ${#expected} == 44 ]] || return 1

  # There is one signature of each secret while you change it; one that fits is
  # enough. Digests with a random key are compared, so that the time it takes
  # tells nothing about the signature itself.
  nonce=$(openssl rand -hex 16)
  digest() { printf %s "$1" | openssl dgst -sha256 -hmac "$nonce"; }
  for given in $signatures; do
    [[ $(digest "$given") == "$(digest "v1,$expected")" ]] && return 0
  done
  return 1
}
