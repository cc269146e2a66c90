/** A small line chart without axes. `marks` are positions of deploys, 0 to 1; `limit` is drawn as a horizontal line. */
export function Sparkline(props: { values: readonly (number | null)[]; color: string; width: number; height: number; marks?: readonly number[]; limit?: number }) {
  const { values, width: w, height: h } = props;
  const { limit } = props;
  const most = Math.max(0, limit ?? 0, ...values.map((v) => v ?? 0));
  if (most <= 0 || values.length < 2) return <svg class="spark" width={w} height={h} aria-hidden="true" />;
  const x = (i: number) => (i / (values.length - 1)) * w;
  const y = (v: number) => h - (v / most) * (h - 3);
  let line = "";
  let area = "";
  let from = -1;
  values.forEach((v, i) => {
    if (v !== null) {
      line += `${from < 0 ? "M" : "L"}${x(i).toFixed(1)} ${y(v).toFixed(1)}`;
      area += `${from < 0 ? `M${x(i).toFixed(1)} ${String(h)}L` : "L"}${x(i).toFixed(1)} ${y(v).toFixed(1)}`;
      if (from < 0) from = i;
    }
    const ends = v === null ? i - 1 : i === values.length - 1 ? i : -1;
    if (from >= 0 && ends >= from) {
      area += `L${x(ends).toFixed(1)} ${String(h)}Z`;
      from = -1;
    }
  });
  const last = values.reduce((n: number, v, i) => (v === null ? n : i), -1);
  return (
    <svg class="spark" width={w} height={h} viewBox={`0 0 ${String(w)} ${String(h)}`} aria-hidden="true">
      <path d={area} fill={props.color} opacity=".12" />
      <path d={line} fill="none" stroke={props.color} stroke-width="1.5" stroke-linejoin="round" />
      {(props.marks ?? []).map((m) => (
        <path key={m} d={`M${(m * w).toFixed(1)} 0V${String(h)}`} stroke="var(--ink-2)" stroke-dasharray="2 2" />
      ))}
      {limit !== undefined && <path d={`M0 ${y(limit).toFixed(1)}H${String(w)}`} stroke="var(--ink-3)" stroke-dasharray="3 2" />}
      {last >= 0 && <circle cx={x(last)} cy={y(values[last] ?? 0)} r="2.2" fill={props.color} />}
    </svg>
  );
}
