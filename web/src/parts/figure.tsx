/** A number with its unit faint behind it: "48.2 ms". */
export function Fig(props: { text: string }) {
  const m = /^([~+\u2212<±-]*[\d.,\u2009]+)[ \u2009]?(\S.*)?$/.exec(props.text);
  if (!m) return <>{props.text}</>;
  return (
    <>
      {m[1]}
      {m[2] !== undefined && <span class="u">{`\u2009${m[2]}`}</span>}
    </>
  );
}
