<?php
// Answers cases, one a line: secret|id|timestamp|signature|body in base64.
require $argv[1] . '/verify.php';

while (($line = fgets(STDIN)) !== false) {
    [$secret, $id, $timestamp, $signature, $body] = explode('|', rtrim($line, "\n"));
    $headers = ['webhook-id' => $id, 'webhook-timestamp' => $timestamp, 'webhook-signature' => $signature];
    echo verify_webhook($secret, $headers, base64_decode($body)) ? "true\n" : "false\n";
}
