// Icons as strokes of an 18 x 18 field, in the colour of the text.

const PATHS = {
  services: "M3.7 2.5h2.6a1.2 1.2 0 0 1 1.2 1.2v2.6a1.2 1.2 0 0 1-1.2 1.2H3.7a1.2 1.2 0 0 1-1.2-1.2V3.7a1.2 1.2 0 0 1 1.2-1.2zM11.7 2.5h2.6a1.2 1.2 0 0 1 1.2 1.2v2.6a1.2 1.2 0 0 1-1.2 1.2h-2.6a1.2 1.2 0 0 1-1.2-1.2V3.7a1.2 1.2 0 0 1 1.2-1.2zM3.7 10.5h2.6a1.2 1.2 0 0 1 1.2 1.2v2.6a1.2 1.2 0 0 1-1.2 1.2H3.7a1.2 1.2 0 0 1-1.2-1.2v-2.6a1.2 1.2 0 0 1 1.2-1.2zM11.7 10.5h2.6a1.2 1.2 0 0 1 1.2 1.2v2.6a1.2 1.2 0 0 1-1.2 1.2h-2.6a1.2 1.2 0 0 1-1.2-1.2v-2.6a1.2 1.2 0 0 1 1.2-1.2z",
  traces: "M2.5 4h9M5 8h8M7.5 12h5M10.5 15.5h5",
  profiles: "M2.5 15h13M2.5 11h9M2.5 7h6M2.5 3h3",
  compare: "M9 2.5v13M3 6h3M3 9.5h3M3 13h3M12 4.5h3.5M12 8.5h3.5M12 13h3.5",
  findings: "M3.2 8a4.8 4.8 0 1 0 9.6 0a4.8 4.8 0 1 0-9.6 0M11.6 11.6l4 4M8 5.6v2.9M8 10.3v.1",
  deploys: "M9 15.5V3M5 7l4-4.2L13 7M3.5 15.5h11",
  alerts: "M4.5 13h9l-1.2-2V7.8a3.3 3.3 0 0 0-6.6 0V11zM7.7 15.5h2.6M9 2.5v2",
  coverage: "M2.7 9a6.3 6.3 0 1 0 12.6 0a6.3 6.3 0 1 0-12.6 0M9 9V2.7M9 9l5 3.8",
  collectors: "M7 4a2 2 0 1 0 4 0a2 2 0 1 0-4 0M2 13.5a2 2 0 1 0 4 0a2 2 0 1 0-4 0M12 13.5a2 2 0 1 0 4 0a2 2 0 1 0-4 0M8 5.8l-3 6M10 5.8l3 6M6 13.5h6",
  settings: "M2.5 5.5h7M13 5.5h2.5M2.5 12.5H5M8.5 12.5h7M9.5 5.5a1.7 1.7 0 1 0 3.4 0a1.7 1.7 0 1 0-3.4 0M5 12.5a1.7 1.7 0 1 0 3.4 0a1.7 1.7 0 1 0-3.4 0",
  find: "M3.2 8a4.8 4.8 0 1 0 9.6 0a4.8 4.8 0 1 0-9.6 0M11.6 11.6l4 4",
  out: "M3.2 8a4.8 4.8 0 1 0 9.6 0a4.8 4.8 0 1 0-9.6 0M11.6 11.6l4 4M6 8h4",
  clock: "M2.7 9a6.3 6.3 0 1 0 12.6 0a6.3 6.3 0 1 0-12.6 0M9 5.3V9l2.5 1.8",
  down: "M5 7.2l4 4 4-4",
  play: "M6 4l7.5 5L6 14z",
  again: "M15 9a6 6 0 1 1-1.8-4.3M15 2.5v3h-3",
  share: "M9 11V2.8M6 5.5L9 2.6l3 2.9M4 9.5v5.7h10V9.5",
  theme: "M2.7 9a6.3 6.3 0 1 0 12.6 0a6.3 6.3 0 1 0-12.6 0",
  more: "M4 9h.1M9 9h.1M14 9h.1",
  close: "M4.5 4.5l9 9M13.5 4.5l-9 9",
  wide: "M3 7V3h4M15 11v4h-4M11 3h4v4M7 15H3v-4",
  file: "M5 2.5h5.5L14 6v9.5H5zM10 2.5V6.5h4",
  swap: "M3 6.5h11l-3-3M15 11.5H4l3 3",
  back: "M11 4L6 9l5 5",
  map: "M6.5 3h5v4h-5zM2.5 11h5v4h-5zM10.5 11h5v4h-5zM8 7l-2.5 4M10 7l2.5 4",
} as const;

export type IconName = keyof typeof PATHS;

export function Icon(props: { name: IconName; size?: number }) {
  return (
    <svg class="i" viewBox="0 0 18 18" aria-hidden="true" {...(props.size === undefined ? {} : { width: props.size, height: props.size })}>
      <path d={PATHS[props.name]} {...(props.name === "more" ? { "stroke-width": "2.4" } : {})} />
      {props.name === "theme" && <path d="M9 2.7v12.6A6.3 6.3 0 0 0 9 2.7z" fill="currentColor" />}
    </svg>
  );
}

export function Logo() {
  return (
    <svg width="20" height="20" viewBox="0 0 20 20" aria-hidden="true">
      <path d="M2 2h6v5H2z" fill="#f2a33a" />
      <path d="M2 7.5h11v5H2z" fill="#e56a26" />
      <path d="M2 13h16v5H2z" fill="#b8430f" />
    </svg>
  );
}
