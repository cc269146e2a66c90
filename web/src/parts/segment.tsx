/** Two to four words of which one holds. */
export function Segment<T extends string>(props: { label: string; value: T; of: readonly (readonly [T, string])[]; onChange: (value: T) => void; class?: string }) {
  return (
    <span class={`seg ${props.class ?? ""}`} role="group" aria-label={props.label}>
      {props.of.map(([key, words]) => (
        <button type="button" key={key} aria-pressed={props.value === key} onClick={() => props.onChange(key)}>
          {words}
        </button>
      ))}
    </span>
  );
}
