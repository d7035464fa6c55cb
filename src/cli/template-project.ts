import {
  copyFileSync,
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  writeFileSync,
} from 'node:fs';
import path from 'node:path';
import { list, object, parseAs, type Shaped, string } from '../values/json-shape.ts';
import { nearestNames } from '../values/nearest-names.ts';
import { packageFolder } from './installation.ts';
import { CliError } from './io.ts';
import { ownDependency } from './own-dependency.ts';

const templates = path.join(packageFolder, 'templates');

/**
 * `templates/templates.json` lists templates in the order in which they are shown. A template is
 * made of parts, which are folders beside that file: what a later part has replaces what an earlier
 * one has. So front ends share one module.
 */
const listed = list(object({ name: string, description: string, parts: list(string) }));

export type Template = Shaped<typeof listed>[number];

/** All templates of the package. */
export function allTemplates(): readonly Template[] {
  return parseAs(readFileSync(path.join(templates, 'templates.json'), 'utf8'), listed);
}

/** Throws `CliError` if there is none of that name. */
export function templateNamed(name: string): Template {
  const all = allTemplates();
  const found = all.find((template) => template.name === name);
  if (found !== undefined) return found;
  const names = all.map((template) => template.name);
  const [near] = nearestNames(name, names);
  const hint = near === undefined ? '' : ` Did you mean ${near}?`;
  throw new CliError(`No such template: ${name}.${hint} Available: ${names.join(', ')}`);
}

/** Files that a package manager would rename or drop have other names in a template. */
const renamed: ReadonlyMap<string, string> = new Map([['gitignore', '.gitignore']]);

/** Makes a project of a template in `folder`. Files that are there stay as they are. */
export function copyTemplate(template: Template, folder: string, projectName: string): void {
  const values: readonly Placeholder[] = [
    ['"{{reducerdb}}"', JSON.stringify(ownDependency(folder))],
    ['{{name}}', projectName],
  ];
  for (const [file, source] of filesOf(template)) {
    const target = path.join(folder, file);
    if (existsSync(target)) continue;
    mkdirSync(path.dirname(target), { recursive: true });
    copyFileSync(source, target);
    const text = readFileSync(target, 'utf8');
    const filled = values.reduce((now, [from, to]) => now.replaceAll(from, () => to), text);
    if (filled !== text) writeFileSync(target, filled);
  }
}

type Placeholder = readonly [text: string, value: string];

/** Paths in the project, each with the file that is copied there. */
function filesOf({ parts }: Template): ReadonlyMap<string, string> {
  const files = new Map<string, string>();
  for (const part of parts) {
    const from = path.join(templates, part);
    for (const entry of readdirSync(from, { recursive: true, withFileTypes: true })) {
      if (!entry.isFile()) continue;
      const source = path.join(entry.parentPath, entry.name);
      const folder = path.relative(from, entry.parentPath);
      files.set(path.join(folder, renamed.get(entry.name) ?? entry.name), source);
    }
  }
  return files;
}
