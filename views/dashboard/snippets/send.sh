# Sends a signed webhook to your own receiver, with curl and openssl: to see
# that it accepts a genuine one, and refuses one signed with another secret.
#
#   send_webhook "$secret" https://localhost:8443/webhooks
send_webhook() {
  local secret=$1 url=$2
  local id timestamp body key signature contract
  id=whd_$(openssl rand -hex 12)
  timestamp=$(date +%s)
  body='{"event":"session.accessed","session_id":"example","livemode":false,"timestamp":"2026-11-20T03:00:00Z","data":{}}'
  key=$(printf %s "${secret#whsec_}" | openssl base64 -d -A | od -An -v -tx1 | tr -d ' \n')
  signature=$(printf '%s.%s.%s' "$id" "$timestamp" "$body" |
    openssl dgst -sha256 -mac HMAC -macopt "hexkey:$key" -binary | openssl base64 -A)
  contract=$(printf %s "$body" | openssl dgst -sha256 -hmac "$secret" -r | cut -d ' ' -f 1)

  curl --silent --show-error --write-out '%{http_code}\n' --request POST "$url" \
    --header 'Content-Type: application/json' \
    --header "webhook-id: $id" --header "webhook-timestamp: $timestamp" --header "webhook-signature: v1,$signature" \
    --header "X-Webhook-ID: $id" --header "X-Webhook-Timestamp: $timestamp" --header "X-Webhook-Signature: $contract" \
    --data-binary "$body"
}
