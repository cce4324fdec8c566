#!/bin/sh
# Demonstrates Candor on a running `make run`: creates a session, fills in the
# HTML form of all seven sections like a browser without script, prints each
# webhook and verifies its signature, and saves data.json and statement.pdf.
# Usage: scripts/demo.sh [folder for the results]
set -eu
cd "$(dirname "$0")/.."

base=${CANDOR_BASE_URL:-http://localhost:8080}
out=${1:-artifacts/demo}
account=${CANDOR_DATA_DIR:-.data}/demo-account.json

fail() {
	echo "demo: $*" >&2
	exit 1
}

# field NAME FILE prints a string member of a JSON object.
field() { sed -n 's/.*"'"$1"'": *"\([^"]*\)".*/\1/p' "$2" | head -n 1; }

[ -r "$account" ] || fail "$account is missing: start \`make run\` first"
key=$(field test_key "$account")
WEBHOOK_SECRET=$(field test_webhook_secret "$account")
export WEBHOOK_SECRET
curl -sf "$base/healthz" >/dev/null || fail "nothing answers on $base: start \`make run\` first"

mkdir -p "$out"
work=$(mktemp -d)
receiver=
trap '[ -z "$receiver" ] || kill "$receiver" 2>/dev/null || true; rm -rf "$work"' EXIT

go build -o "$work/receiver" ./tools/receiver
"$work/receiver" -addr 127.0.0.1:0 -until session.pdf_ready -timeout 2m -url-file "$work/hook" &
receiver=$!
hook=
for _ in 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 19 20; do
	hook=$(cat "$work/hook" 2>/dev/null || true)
	[ -z "$hook" ] || break
	sleep 0.1
done
[ -n "$hook" ] || fail "the webhook receiver did not start"

echo "1. A session, created by the partner's server"
curl -sS -o "$work/session.json" -w '   POST /v1/sessions: %{http_code}\n' "$base/v1/sessions" \
	-H "Authorization: Bearer $key" -H 'Content-Type: application/json' -d @- <<JSON
{"form_type": "financial_statement", "customer_email": "mei.tan@example.com", "customer_name": "Mei Tan",
 "reference_id": "loan-20417", "webhook_url": "$hook", "expires_in_days": 14, "metadata": {"branch": "Parramatta"}}
JSON
id=$(field id "$work/session.json")
link=$(field session_url "$work/session.json")
[ -n "$id" ] && [ -n "$link" ] || fail "no session was created: $(cat "$work/session.json")"
echo "   $id"

echo "2. The form, filled in by the customer, and its webhooks"
form() { curl -sS -b "$work/cookies" -c "$work/cookies" "$@"; }
status=$(form -L -o "$work/page.html" -w '%{http_code}' "$link")
[ "$status" = 200 ] || fail "the link answered $status"

# post SECTION NAME=VALUE… sends one section; a redirect means success.
post() {
	section=$1
	shift
	for pair in "$@"; do
		set -- "$@" --data-urlencode "$pair"
		shift
	done
	status=$(form -o "$work/page.html" -w '%{http_code}' "$@" "$base/f/$id/$section")
	[ "$status" = 303 ] || fail "$section answered $status: $(sed -n 's/.*class="[^"]*error[^"]*"[^>]*>\([^<]*\)<.*/\1/p' "$work/page.html" | head -n 3)"
	echo "   $section"
}

post personal_details full_name='Mei Tan' date_of_birth.day=9 date_of_birth.month=11 date_of_birth.year=1988 \
	occupation='Primary school teacher' employer='NSW Department of Education' \
	address.street='12 Jacaranda Avenue' address.suburb=Parramatta address.state=NSW address.postcode=2150 \
	phone='0491 570 110' email=mei.tan@example.com
post income employment_income.gross_salary='$98,450' employment_income.bonuses= employment_income.allowances=1200 \
	other_income.rental_income='21,320' other_income.dividends=415.80 other_income.interest=210.35
post assets real_property.0.description='Family home' real_property.0.address='12 Jacaranda Avenue, Parramatta NSW 2150' \
	real_property.0.ownership=joint real_property.0.ownership_percentage=50 \
	real_property.0.current_value='1,180,000' real_property.0.mortgage_owing='642,300.50' \
	real_property.1.description='Investment unit' real_property.1.address='4/81 Crown Street, Wollongong NSW 2500' \
	real_property.1.ownership=sole real_property.1.ownership_percentage=100 \
	real_property.1.current_value='560,000' real_property.1.mortgage_owing='398,120' \
	vehicles.0.description='Mazda CX-5 2022' vehicles.0.value='31,500' vehicles.0.amount_owing='12,400' \
	bank_accounts.0.institution='Commonwealth Bank' bank_accounts.0.account_type=transaction bank_accounts.0.balance='3,870.12' \
	bank_accounts.1.institution=ING bank_accounts.1.account_type=savings bank_accounts.1.balance='26,400' \
	superannuation.0.fund_name='Aware Super' superannuation.0.balance='118,905.66' \
	investments.0.description='Index fund units' investments.0.value='14,250'
post liabilities mortgages.0.lender=Westpac mortgages.0.property='12 Jacaranda Avenue, Parramatta NSW 2150' \
	mortgages.0.balance='321,150.25' mortgages.0.monthly_repayment='1,985' \
	mortgages.1.lender=Macquarie mortgages.1.property='4/81 Crown Street, Wollongong NSW 2500' \
	mortgages.1.balance='398,120' mortgages.1.monthly_repayment='2,410.60' \
	credit_cards.0.issuer='American Express' credit_cards.0.limit='8,000' credit_cards.0.balance='1,240.95' \
	other_liabilities.0.description='Finance for Mazda CX-5 2022' other_liabilities.0.lender='Mazda Finance' \
	other_liabilities.0.balance='12,400' other_liabilities.0.monthly_repayment=465
post expenses housing.mortgage_rent='1,985' housing.utilities=290 housing.insurance=128.50 housing.rates=165 \
	transport.car_loan=465 transport.fuel=240 transport.registration_insurance=145 \
	living.groceries=980 living.clothing=110 living.medical=165.40 living.entertainment=260

# A small PDF as the customer's bank statement.
cat >"$work/statement-june.pdf" <<'PDF'
%PDF-1.4
1 0 obj<</Type/Catalog/Pages 2 0 R>>endobj
2 0 obj<</Type/Pages/Kids[3 0 R]/Count 1>>endobj
3 0 obj<</Type/Page/Parent 2 0 R/MediaBox[0 0 595 842]>>endobj
trailer<</Root 1 0 R>>
%%EOF
PDF
status=$(form -o "$work/page.html" -w '%{http_code}' -F action=upload -F category=bank_statement \
	-F "file=@$work/statement-june.pdf;type=application/pdf" "$base/f/$id/documents")
case $status in 200 | 303) echo "   documents: statement-june.pdf uploaded" ;; *) fail "the upload returned $status" ;; esac
post documents action=continue
post declaration accepted=true full_name='Mei Tan'

echo "3. The last webhooks, as the partner's server receives them"
wait "$receiver" || fail "the webhooks did not all come, or not all verified"
receiver=

echo "4. The result, downloaded by the partner's server"
get() { curl -sS -f -o "$2" -H "Authorization: Bearer $key" "$base/v1/sessions/$id/$1" || fail "$1 could not be downloaded"; }
get data "$out/data.json"
get pdf "$out/statement.pdf"
echo "   $out/data.json      $(wc -c <"$out/data.json" | tr -d ' ') bytes"
echo "   $out/statement.pdf  $(wc -c <"$out/statement.pdf" | tr -d ' ') bytes"
