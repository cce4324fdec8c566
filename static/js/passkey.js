// A form with data-passkey uses a passkey before it is posted: "create" creates one,
// "get" uses one. data-options are the server's options; the result goes into the
// field "response".
const bytes = (text) =>
  Uint8Array.from(atob(text.replaceAll("-", "+").replaceAll("_", "/")), (c) => c.charCodeAt(0));

const text = (buffer) =>
  buffer &&
  btoa(String.fromCharCode(...new Uint8Array(buffer)))
    .replaceAll("+", "-")
    .replaceAll("/", "_")
    .replaceAll("=", "");

async function askPasskey(form) {
  const options = JSON.parse(form.dataset.options);
  options.challenge = bytes(options.challenge);
  const list = form.dataset.passkey === "create" ? "excludeCredentials" : "allowCredentials";
  options[list] = options[list]?.map((c) => ({ ...c, id: bytes(c.id) }));
  if (options.user) options.user.id = bytes(options.user.id);
  const credential = await navigator.credentials[form.dataset.passkey]({ publicKey: options });
  const { response } = credential;
  return JSON.stringify({
    id: credential.id,
    rawId: text(credential.rawId),
    type: credential.type,
    authenticatorAttachment: credential.authenticatorAttachment,
    clientExtensionResults: credential.getClientExtensionResults(),
    response: {
      clientDataJSON: text(response.clientDataJSON),
      attestationObject: text(response.attestationObject),
      transports: response.getTransports?.(),
      authenticatorData: text(response.authenticatorData),
      signature: text(response.signature),
      userHandle: text(response.userHandle),
    },
  });
}

document.addEventListener("submit", async (event) => {
  const form = event.target;
  if (!form.dataset.passkey || form.elements.response.value) return;
  event.preventDefault();
  const message = form.querySelector("[data-problem]");
  message.textContent = "";
  try {
    form.elements.response.value = await askPasskey(form);
  } catch (error) {
    message.textContent =
      error.name === "InvalidStateError"
        ? "This device has a passkey for your account already."
        : "No passkey was used. Try again, or go back.";
    return;
  }
  form.submit();
});
