import java.io.BufferedReader;
import java.io.InputStreamReader;
import java.nio.charset.StandardCharsets;
import java.util.Base64;
import java.util.HashMap;
import java.util.Map;

/** Answers cases, one a line: secret|id|timestamp|signature|body in base64. */
public final class Drive {
    public static void main(String[] args) throws Exception {
        BufferedReader in = new BufferedReader(new InputStreamReader(System.in, StandardCharsets.UTF_8));
        for (String line = in.readLine(); line != null; line = in.readLine()) {
            String[] parts = line.split("\\|", -1);
            Map<String, String> headers = new HashMap<>();
            headers.put("webhook-id", parts[1]);
            headers.put("webhook-timestamp", parts[2]);
            headers.put("webhook-signature", parts[3]);
            System.out.println(VerifyWebhook.verify(parts[0], headers, Base64.getDecoder().decode(parts[4])));
        }
    }
}
