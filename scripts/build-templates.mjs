// The programs of the project templates, built ahead, so that a running service can make a database
// of a template without a bundler and without the network: `dist/templates/templates.json` lists
// them, and each program is a compressed file beside it, named by its hash.
import { createHash } from 'node:crypto';
import {
  cpSync,
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  rmSync,
  writeFileSync,
} from 'node:fs';
import path from 'node:path';
import { pathToFileURL } from 'node:url';
import { gzipSync } from 'node:zlib';
import { root } from './run.mjs';

const templates = path.join(root, 'templates');

/** Builds them with the bundler in `dist`, a folder with all that is built but them. */
export async function buildTemplates(dist) {
  const { buildModule } = await import(
    pathToFileURL(path.join(dist, 'bundle/build-module.js')).href
  );
  const into = path.join(dist, 'templates');
  mkdirSync(into);
  const listed = [];
  for (const { name, description, parts } of allTemplates()) {
    const work = path.join(dist, '.template');
    try {
      // What a later part has replaces what an earlier one has.
      for (const part of parts) cpSync(path.join(templates, part), work, { recursive: true });
      const { program } = await buildModule(path.join(work, modulePathOf(work)));
      const hash = createHash('sha256').update(program).digest('hex').slice(0, 16);
      writeFileSync(path.join(into, `${hash}.js.gz`), gzipSync(program, { level: 9 }));
      listed.push({ name, description, program: `${hash}.js.gz` });
    } finally {
      rmSync(work, { recursive: true, force: true });
    }
  }
  writeFileSync(path.join(into, 'templates.json'), JSON.stringify(listed, null, 2));
}

/** As the file beside them lists them; without one, each folder is a template. */
function allTemplates() {
  const list = path.join(templates, 'templates.json');
  if (existsSync(list)) return JSON.parse(readFileSync(list, 'utf8'));
  const folders = readdirSync(templates, { withFileTypes: true }).filter((one) =>
    one.isDirectory(),
  );
  return folders.map(({ name }) => ({ name, description: titleOf(name), parts: [name] }));
}

/** The heading of its README. */
function titleOf(name) {
  const readme = path.join(templates, name, 'README.md');
  const text = existsSync(readme) ? readFileSync(readme, 'utf8') : '';
  return /^# (.+)$/m.exec(text)?.[1] ?? name;
}

/** The module's folder in a project; without a `service.json` the project is one. */
function modulePathOf(project) {
  const file = path.join(project, 'service.json');
  if (!existsSync(file)) return '.';
  return JSON.parse(readFileSync(file, 'utf8'))['module-path'] ?? '.';
}
