/** Icons on a grid of 24, drawn with lines. Decoration: what they mean stands beside them. */
const paths = {
  database:
    'M4 6c0-1.7 3.6-3 8-3s8 1.3 8 3-3.6 3-8 3-8-1.3-8-3Zm0 0v12c0 1.7 3.6 3 8 3s8-1.3 8-3V6' +
    'M4 12c0 1.7 3.6 3 8 3s8-1.3 8-3',
  host: 'M4 4h16v7H4zM4 13h16v7H4zM8 7.5h.01M8 16.5h.01',
  table: 'M4 5h16v14H4zM4 10h16M4 14.5h16M10 10v9',
  view:
    'M2.5 12S6 5.5 12 5.5 21.5 12 21.5 12 18 18.5 12 18.5 2.5 12 2.5 12Z' +
    'M12 9.5a2.5 2.5 0 1 1 0 5 2.5 2.5 0 0 1 0-5Z',
  sql: 'm5 7 5 5-5 5M12 18h7',
  function: 'M9 20c2 0 2.5-1.5 3-5l1-7c.5-3 1.5-4 3.5-4M8 10h8',
  live: 'M3 12h4l3-8 4 16 3-8h4',
  logs: 'M5 5h14M5 10h14M5 15h9M5 20h6',
  schema: 'M4 4h6v5H4zM14 15h6v5h-6zM4 15h6v5H4zM7 9v6M10 17.5h4',
  deploy: 'M12 15V4m0 0L7.5 8.5M12 4l4.5 4.5M4 15v5h16v-5',
  clock: 'M12 3a9 9 0 1 1 0 18 9 9 0 0 1 0-18Zm0 4.5V12l3 2',
  history: 'M4 5v4h4M4.5 9A8.5 8.5 0 1 1 3.6 14M12 8v4.5l3 1.5',
  key: 'M14.5 3a6.5 6.5 0 1 1-3 12.2L9.5 17H7v2.5H4V16l5-5.2A6.5 6.5 0 0 1 14.5 3Zm2 5h.01',
  chart: 'M4 4v16h16M8 15l3.5-4 3 2.5L20 8',
  archive: 'M3 4h18v5H3zM5 9v11h14V9M10 13h4',
  env: 'M4 7h10M18 7h2M4 17h2M10 17h10M16 5v4M8 15v4',
  search: 'M10.5 4a6.5 6.5 0 1 1 0 13 6.5 6.5 0 0 1 0-13ZM15.5 15.5 20 20',
  plus: 'M12 5v14M5 12h14',
  minus: 'M5 12h14',
  close: 'm6 6 12 12M18 6 6 18',
  check: 'm5 12.5 4.5 4.5L19 7',
  copy: 'M9 9h11v11H9zM15 9V4H4v11h5',
  down: 'm6 9 6 6 6-6',
  up: 'm6 15 6-6 6 6',
  right: 'm9 6 6 6-6 6',
  left: 'm15 6-6 6 6 6',
  menu: 'M4 7h16M4 12h16M4 17h16',
  more: 'M6 12h.01M12 12h.01M18 12h.01',
  trash: 'M4 7h16M9 7V4h6v3M6.5 7l1 13h9l1-13',
  edit: 'M4 20h4L19 9l-4-4L4 16zM13 7l4 4',
  filter: 'M4 6h16M7 12h10M10 18h4',
  columns: 'M4 5h16v14H4zM9.3 5v14M14.7 5v14',
  play: 'M7 4.5v15l12-7.5z',
  stop: 'M6 6h12v12H6z',
  refresh: 'M20 5v5h-5M19.5 10A8 8 0 1 0 20 14',
  download: 'M12 4v11m0 0-4.5-4.5M12 15l4.5-4.5M4 20h16',
  upload: 'M12 15V4m0 0L7.5 8.5M12 4l4.5 4.5M4 20h16',
  lock: 'M6 11h12v9H6zM8.5 11V8a3.5 3.5 0 0 1 7 0v3',
  user: 'M12 4a4 4 0 1 1 0 8 4 4 0 0 1 0-8ZM4.5 20.5c.8-3.5 3.7-5.5 7.5-5.5s6.7 2 7.5 5.5',
  warning: 'M12 4 2.5 20h19zM12 10v4.500M12 17.200h.01',
  info: 'M12 3a9 9 0 1 1 0 18 9 9 0 0 1 0-18ZM12 11v5.500M12 7.600h.01',
  link: 'M14 5h5v5M19 5l-8 8M10 6H5v13h13v-5',
  exit: 'M10 4H5v16h5M10 12h10m0 0-4-4m4 4-4 4',
  bolt: 'M13 3 5 14h6l-1 7 8-11h-6z',
  pause: 'M8 5v14M16 5v14',
  undo: 'M4 9h10a5 5 0 0 1 0 11H8M4 9l4.5-4.500M4 9l4.5 4.5',
  star: 'm12 4 2.5 5.2 5.5.8-4 4 1 5.6-5-2.7-5 2.7 1-5.6-4-4 5.5-.8z',
} as const;

export type IconName = keyof typeof paths;

export function Icon({ name, size = 16 }: { readonly name: IconName; readonly size?: number }) {
  return (
    <svg
      width={size}
      height={size}
      viewBox="0 0 24 24"
      fill="none"
      stroke="currentColor"
      strokeWidth={name === 'more' ? 2.6 : 1.7}
      strokeLinecap="round"
      strokeLinejoin="round"
      aria-hidden="true"
      focusable="false"
    >
      <path d={paths[name]} />
    </svg>
  );
}
