using System;
using System.Collections.Generic;

// Answers cases, one a line: secret|id|timestamp|signature|body in base64.
public static class Drive
{
    public static void Main()
    {
        string line;
        while ((line = Console.ReadLine()) != null)
        {
            var parts = line.Split('|');
            var headers = new Dictionary<string, string>
            {
                ["webhook-id"] = parts[1], ["webhook-timestamp"] = parts[2], ["webhook-signature"] = parts[3],
            };
            Console.WriteLine(VerifyWebhook.Verify(parts[0], headers, Convert.FromBase64String(parts[4])) ? "true" : "false");
        }
    }
}
