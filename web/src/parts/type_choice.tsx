import { typeWords } from "../trace/span_profile";

const SHOWN = 4;

/** Short words beside one another; more than a few are a menu. */
export function TypeChoice(props: { types: readonly string[]; type: string; onType: (type: string) => void; first?: { words: string; title: string } }) {
  const { first } = props;
  const rest = props.types.slice(SHOWN);
  return (
    <>
      <span class="seg" role="group" aria-label="Profile type">
        {first && (
          <button type="button" title={first.title} aria-pressed={props.type === ""} onClick={() => props.onType("")}>
            {first.words}
          </button>
        )}
        {props.types.slice(0, SHOWN).map((t) => (
          <button type="button" key={t} title={t} aria-pressed={t === props.type} onClick={() => props.onType(t)}>
            {typeWords(t)}
          </button>
        ))}
      </span>
      {rest.length > 0 && (
        <select aria-label="More profile types" value={rest.includes(props.type) ? props.type : ""} onChange={(e) => e.currentTarget.value !== "" && props.onType(e.currentTarget.value)}>
          <option value="">{rest.length} more</option>
          {rest.map((t) => (
            <option key={t} value={t}>
              {typeWords(t)}
            </option>
          ))}
        </select>
      )}
    </>
  );
}
