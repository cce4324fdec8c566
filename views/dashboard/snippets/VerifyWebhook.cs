using System;
using System.Collections.Generic;
using System.Security.Cryptography;
using System.Text;
using System.Text.RegularExpressions;

public static class VerifyWebhook
{
    const long Tolerance = 5 * 60; // seconds

    /// <summary>
    /// Says whether Candor sent this request. headers has its headers by their
    /// names in lower case; body is the bytes that arrived, before anything
    /// parses them.
    /// </summary>
    public static bool Verify(string secret, IReadOnlyDictionary<string, string> headers, byte[] body)
    {
        headers.TryGetValue("webhook-id", out var id);
        headers.TryGetValue("webhook-timestamp", out var timestamp);
        headers.TryGetValue("webhook-signature", out var signatures);
        if (!Regex.IsMatch(timestamp ?? "", @"\A[0-9]{1,12}\z")
            || Math.Abs(DateTimeOffset.UtcNow.ToUnixTimeSeconds() - long.Parse(timestamp)) > Tolerance)
        {
            return false;
        }

        var key = Convert.FromBase64String(secret.StartsWith("whsec_", StringComparison.Ordinal) ? secret.Substring(6) : secret);
        var start = Encoding.UTF8.GetBytes(id + "." + timestamp + ".");
        var signed = new byte[start.Length + body.Length];
        start.CopyTo(signed, 0);
        body.CopyTo(signed, start.Length);
        byte[] expected;
        using (var hmac = new HMACSHA256(key))
        {
            expected = Encoding.UTF8.GetBytes("v1," + Convert.ToBase64String(hmac.ComputeHash(signed)));
        }

        // There is one signature of each secret while you change it; one that
        // fits is enough.
        foreach (var given in (signatures ?? "").Split(' '))
        {
            if (CryptographicOperations.FixedTimeEquals(Encoding.UTF8.GetBytes(given), expected))
            {
                return true;
            }
        }
        return false;
    }
}
