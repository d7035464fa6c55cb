/** Types by the extension of a file. What browsers load is listed; all else is only a download. */
const types: Readonly<Record<string, string>> = {
  html: 'text/html; charset=utf-8',
  htm: 'text/html; charset=utf-8',
  css: 'text/css; charset=utf-8',
  js: 'text/javascript; charset=utf-8',
  mjs: 'text/javascript; charset=utf-8',
  cjs: 'text/javascript; charset=utf-8',
  json: 'application/json',
  map: 'application/json',
  webmanifest: 'application/manifest+json',
  jsonld: 'application/ld+json',
  geojson: 'application/geo+json',
  xml: 'application/xml',
  xhtml: 'application/xhtml+xml',
  rss: 'application/rss+xml',
  atom: 'application/atom+xml',
  txt: 'text/plain; charset=utf-8',
  md: 'text/markdown; charset=utf-8',
  csv: 'text/csv; charset=utf-8',
  ics: 'text/calendar; charset=utf-8',
  vtt: 'text/vtt; charset=utf-8',
  toml: 'application/toml',
  yaml: 'application/yaml',
  yml: 'application/yaml',
  wasm: 'application/wasm',
  pdf: 'application/pdf',
  svg: 'image/svg+xml',
  png: 'image/png',
  jpg: 'image/jpeg',
  jpeg: 'image/jpeg',
  gif: 'image/gif',
  webp: 'image/webp',
  avif: 'image/avif',
  apng: 'image/apng',
  jxl: 'image/jxl',
  ico: 'image/x-icon',
  bmp: 'image/bmp',
  woff: 'font/woff',
  woff2: 'font/woff2',
  ttf: 'font/ttf',
  otf: 'font/otf',
  mp3: 'audio/mpeg',
  m4a: 'audio/mp4',
  ogg: 'audio/ogg',
  oga: 'audio/ogg',
  opus: 'audio/ogg',
  wav: 'audio/wav',
  flac: 'audio/flac',
  mp4: 'video/mp4',
  m4v: 'video/mp4',
  webm: 'video/webm',
  ogv: 'video/ogg',
  mov: 'video/quicktime',
  gltf: 'model/gltf+json',
  glb: 'model/gltf-binary',
  zip: 'application/zip',
  gz: 'application/gzip',
  br: 'application/octet-stream',
  zst: 'application/zstd',
};

const unknownType = 'application/octet-stream';

/** The type of a file, by the extension in its path. */
export function mediaTypeOf(path: string): string {
  return types[extensionOf(path)] ?? unknownType;
}

/** Whether content of its type is likely to shrink: most pictures and films are packed already. */
export function shrinks(path: string): boolean {
  const type = mediaTypeOf(path);
  return /^text\/|[/+](?:json|xml)|^application\/(?:wasm|toml|yaml)|^font\/[to]tf|bmp/.test(type);
}

/** In lower case, without its dot; empty: there is none. */
export function extensionOf(path: string): string {
  return /[^/]\.([^./]+)$/.exec(path)?.[1]?.toLowerCase() ?? '';
}
