import { useEffect, useRef, useState } from "preact/hooks";
import { setSetting, setting, type SettingName } from "../state/settings";

const FIELDS: readonly (readonly [SettingName, string, string])[] = [
  ["sourceTemplate", "Source of a frame, with {file}, {line} and {function}", "https://git.example/shop/blob/main/{file}#L{line}"],
  ["logTemplate", "Logs of a span, with {traceId}, {spanId}, {service}, {start} and {end} (unix ms)", "https://logs.example/search?q={traceId}&from={start}&to={end}"],
];

/** What the page cannot know: where your sources and logs are. Kept in this browser. Shown whenever `turn` rises. */
export function SettingsDialog(props: { turn: number }) {
  const dialog = useRef<HTMLDialogElement>(null);
  const [typed, setTyped] = useState<Readonly<Record<string, string>>>({});
  const [fault, setFault] = useState("");
  const show = () => {
    setTyped(Object.fromEntries(FIELDS.map(([name]) => [name, setting(name)])));
    setFault("");
    dialog.current?.showModal();
  };
  useEffect(() => {
    if (props.turn > 0) show();
  }, [props.turn]);
  const submit = (e: Event) => {
    e.preventDefault();
    if (FIELDS.some(([name]) => !/^($|https?:\/\/)/.test(typed[name] ?? ""))) {
      setFault("A link begins with http:// or https://.");
      return;
    }
    for (const [name] of FIELDS) setSetting(name, typed[name] ?? "");
    dialog.current?.close();
  };
  return (
      <dialog ref={dialog} class="settings" aria-labelledby="settings-title">
        <form onSubmit={submit}>
          <h2 id="settings-title">Links out of the page</h2>
          {FIELDS.map(([name, words, example]) => (
            <label key={name}>
              {words}
              <input value={typed[name] ?? ""} placeholder={example} onInput={(e) => setTyped({ ...typed, [name]: e.currentTarget.value })} />
            </label>
          ))}
          {fault !== "" && (
            <p class="note bad" role="alert">
              {fault}
            </p>
          )}
          <p class="note">Stored in this browser; overrides the server’s configuration (page.source_link, page.logs_link). The page itself contacts only this server; such a link opens when you click it.</p>
          <div class="row">
            <button type="submit" class="main">
              Keep
            </button>
            <button type="button" onClick={() => dialog.current?.close()}>
              Cancel
            </button>
          </div>
        </form>
      </dialog>
  );
}
