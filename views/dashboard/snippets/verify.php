<?php

const WEBHOOK_TOLERANCE = 5 * 60; // seconds

/**
 * Says whether Candor sent this request. $headers has its headers by their
 * names in lower case, such as array_change_key_case(getallheaders()); $body is
 * what arrived, before anything parses it: file_get_contents('php://input').
 */
function verify_webhook(string $secret, array $headers, string $body): bool
{
    $id = $headers['webhook-id'] ?? '';
    $timestamp = $headers['webhook-timestamp'] ?? '';
    if (!preg_match('/^[0-9]{1,12}$/D', $timestamp) || abs(time() - (int) $timestamp) > WEBHOOK_TOLERANCE) {
        return false;
    }

    $key = base64_decode(preg_replace('/^whsec_/', '', $secret));
    $expected = 'v1,' . base64_encode(hash_hmac('sha256', "$id.$timestamp.$body", $key, true));

    // There is one signature of each secret while you change it; one that fits
    // is enough.
    foreach (explode(' ', $headers['webhook-signature'] ?? '') as $given) {
        if (hash_equals($expected, $given)) {
            return true;
        }
    }
    return false;
}
