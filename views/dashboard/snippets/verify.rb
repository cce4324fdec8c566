require "openssl"

WEBHOOK_TOLERANCE = 5 * 60 # seconds

# Says whether Candor sent this request. headers has its headers by their names
# in lower case; body is the string of bytes that arrived, before anything
# parses it: request.body.read, or request.raw_post in Rails.
def verify_webhook(secret, headers, body)
  id = headers["webhook-id"].to_s
  timestamp = headers["webhook-timestamp"].to_s
  return false unless timestamp.match?(/\A[0-9]{1,12}\z/) && (Time.now.to_i - timestamp.to_i).abs <= WEBHOOK_TOLERANCE

  key = secret.delete_prefix("whsec_").unpack1("m")
  mac = OpenSSL::HMAC.digest("SHA256", key, "#{id}.#{timestamp}.".b + body.b)
  expected = "v1,#{[mac].pack("m0")}"

  # There is one signature of each secret while you change it; one that fits is
  # enough.
  headers["webhook-signature"].to_s.split(" ").any? { |given| OpenSSL.secure_compare(given, expected) }
end
