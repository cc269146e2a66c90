import { useEffect, useRef, useState } from "preact/hooks";
import { credentials, setCredentials } from "../api/client";
import { haveCredentials, onNeed } from "../api/token";

/** Shown when the server requests a token or a tenant; both are kept until the tab is closed, in its own storage: no other
 * origin, port or tab can read them. A cookie would go to every port of the host. */
export function TokenPrompt() {
  const [sentence, setSentence] = useState("");
  const [typed, setTyped] = useState({ token: "", tenant: credentials().tenant });
  const dialog = useRef<HTMLDialogElement>(null);
  useEffect(() => onNeed(setSentence), []);
  useEffect(() => {
    if (sentence !== "" && dialog.current && !dialog.current.open) dialog.current.showModal();
  }, [sentence]);
  const submit = (e: Event) => {
    e.preventDefault();
    // Left empty, the token that is known stays; it is never put back into the document.
    setCredentials({ token: typed.token === "" ? credentials().token : typed.token, tenant: typed.tenant });
    setTyped({ ...typed, token: "" });
    dialog.current?.close();
    setSentence("");
    haveCredentials();
  };
  return (
    <dialog ref={dialog} class="token" aria-labelledby="token-title" onClose={() => setSentence("")}>
      <form onSubmit={submit}>
        <h2 id="token-title">This server requires authentication</h2>
        <p class="note">{sentence}</p>
        <label>
          Token
          <input type="password" autocomplete="off" value={typed.token} onInput={(e) => setTyped({ ...typed, token: e.currentTarget.value })} />
        </label>
        <label>
          Tenant <input autocomplete="off" value={typed.tenant} onInput={(e) => setTyped({ ...typed, tenant: e.currentTarget.value })} />
        </label>
        <p class="note">Both are kept in this tab only, and sent to this server only.</p>
        <div class="row">
          <button type="submit" class="main">
            Use it
          </button>
          <button type="button" onClick={() => dialog.current?.close()}>
            Cancel
          </button>
        </div>
      </form>
    </dialog>
  );
}
