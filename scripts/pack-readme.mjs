// Pages that show the README of the package, as registries do, have none of its files. While the
// package is packed, links from README.md to files in it are absolute: `npm pack` runs
// `pack-readme.mjs absolute` before and `pack-readme.mjs relative` after. What one does the other
// undoes, whatever happened in between.
import { readFileSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { fileURLToPath } from 'node:url';

const root = fileURLToPath(new URL('..', import.meta.url));

/** Where the files of this version can be read, folders too. */
export function baseOf({ name, version }) {
  return `https://app.unpkg.com/${name}@${version}/files/`;
}

/** Links to places in the same document and to other hosts stay as they are. */
export function withAbsoluteLinks(text, base) {
  return text.replaceAll(
    /\]\((?!https?:|#|mailto:)([^)]+)\)/g,
    (_, target) => `](${base}${target})`,
  );
}

export function withRelativeLinks(text, base) {
  return text.replaceAll(`](${base}`, '](');
}

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  const file = path.join(root, 'README.md');
  const base = baseOf(JSON.parse(readFileSync(path.join(root, 'package.json'), 'utf8')));
  const change = { absolute: withAbsoluteLinks, relative: withRelativeLinks }[process.argv[2]];
  if (change === undefined) throw new Error('pack-readme.mjs absolute|relative');
  writeFileSync(file, change(readFileSync(file, 'utf8'), base));
}
