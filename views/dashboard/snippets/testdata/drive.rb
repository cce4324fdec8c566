# Answers cases, one a line: secret|id|timestamp|signature|body in base64.
require File.expand_path("verify", ARGV.shift)

while (line = $stdin.gets)
  secret, id, timestamp, signature, body = line.chomp.split("|", -1)
  headers = { "webhook-id" => id, "webhook-timestamp" => timestamp, "webhook-signature" => signature }
  puts verify_webhook(secret, headers, body.unpack1("m0"))
end
