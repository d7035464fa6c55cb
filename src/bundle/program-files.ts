import { limits } from '../limits.ts';
import { sdkSourcePrefix } from '../module/javascript/stack-trace.ts';
import { cutName } from '../module/log-line.ts';
import { type FunctionLines, functionLines } from './function-lines.ts';
import { splitMap } from './inline-map.ts';

export type { FunctionLines };

/** A file of a module, as it was published. */
export interface ProgramFile {
  /** As the source map names it: where it is in the project. */
  readonly name: string;
  readonly text: string;
}

/** What the author of a program wrote, as far as the program carries it. */
export interface ProgramFiles {
  /** `bundle`: the program carries no sources, so its own text is the only file. */
  readonly kind: 'sources' | 'bundle';
  readonly files: readonly ProgramFile[];
  /** Names of packages and of files that are not shown, each once. */
  readonly leftOut: readonly string[];
  /** Of sources alone. */
  readonly functions: readonly FunctionLines[];
}

/** What a program is called as a file. */
const bundleName = 'bundle.js';

/**
 * Reads the sources in the map of a published program, without running it. They are those of the
 * project alone: packages, our own among them, and files outside of the project are named only, and
 * so are files beyond `limits.sourceCharactersMax`.
 *
 * A program can make this take long, and much memory: see `host/publishing/source-reader.ts`.
 */
export function readProgramFiles(program: Uint8Array): ProgramFiles {
  const { code, map } = splitMap(new TextDecoder().decode(program));
  const isRead = map !== undefined && map.length <= limits.sourceMapCharactersMax;
  const sources = isRead ? readSources(map) : [];
  const shown = withinBound(sources.filter(({ isOwn }) => isOwn));
  if (map === undefined || shown.length === 0) return textOf(code);
  const names = new Set(shown.map(({ name }) => name));
  const leftOut = sources.filter(({ name }) => !names.has(name)).map(shownElsewhere);
  const functions = functionLines(code, map).filter(({ file }) => names.has(file));
  return {
    kind: 'sources',
    files: shown.map(({ name, text }) => ({ name, text })),
    leftOut: [...new Set(leftOut)].slice(0, limits.sourcesLeftOutMax),
    functions: functions.slice(0, limits.sourceFunctionsMax),
  };
}

interface Source extends ProgramFile {
  /** It is part of the project. */
  readonly isOwn: boolean;
}

/** The program brings its map, so nothing in it is trusted. */
function readSources(json: string): readonly Source[] {
  const { sources, sourcesContent } = parsed(json);
  if (!Array.isArray(sources) || !Array.isArray(sourcesContent)) return [];
  const found = new Map<string, Source>();
  sources.slice(0, limits.sourceMapSourcesMax).forEach((source: unknown, at) => {
    const text: unknown = sourcesContent[at];
    // A name with a line end or a mark of direction would pass for something else.
    if (typeof source !== 'string' || source === '' || /[\p{C}\p{Zl}\p{Zp}]/u.test(source)) return;
    const name = cutName(source);
    if (found.has(name)) return;
    const isOwn = typeof text === 'string' && isInProject(name);
    found.set(name, { name, text: isOwn ? text : '', isOwn });
  });
  return [...found.values()];
}

function parsed(json: string): { readonly sources?: unknown; readonly sourcesContent?: unknown } {
  try {
    const map: unknown = JSON.parse(json);
    return typeof map === 'object' && map !== null ? map : {};
  } catch {
    return {};
  }
}

/** A relative path that stays in the folder of the project, and is not that of a package. */
function isInProject(name: string): boolean {
  if (name.startsWith(sdkSourcePrefix) || /^[/\\]|:/.test(name)) return false;
  return !name.split(/[/\\]/).some((part) => part === '..' || part === 'node_modules');
}

/** The package that a file belongs to, or the file. */
function shownElsewhere({ name }: Source): string {
  if (name.startsWith(sdkSourcePrefix)) return sdkSourcePrefix.slice(0, -1);
  return /^(?:.*\/)?node_modules\/((?:@[^/]+\/)?[^/]+)/.exec(name)?.[1] ?? name;
}

function withinBound(files: readonly Source[]): readonly Source[] {
  let characters = 0;
  let lines = 0;
  return files.filter(({ text }) => {
    const count = linesOf(text);
    if (characters + text.length > limits.sourceCharactersMax) return false;
    if (lines + count > limits.sourceLinesMax) return false;
    characters += text.length;
    lines += count;
    return true;
  });
}

/** At least as many as a text has. */
function linesOf(text: string): number {
  let count = 1;
  for (let at = 0; at < text.length; at++) {
    const unit = text.charCodeAt(at);
    if (unit === 0x0a || unit === 0x0d || unit === 0x2028 || unit === 0x2029) count++;
  }
  return count;
}

/** The text of a program as the only file; its map is not read. */
export function programAsFile(program: Uint8Array): ProgramFiles {
  // Most of the bytes can be those of its map; a text of more is not looked through.
  if (program.length > limits.sourceMapCharactersMax) return noText;
  return textOf(splitMap(new TextDecoder().decode(program)).code);
}

function textOf(code: string): ProgramFiles {
  if (code.length > limits.sourceCharactersMax) return noText;
  if (linesOf(code) > limits.sourceLinesMax) return noText;
  return { ...noText, files: [{ name: bundleName, text: code }], leftOut: [] };
}

/** Of a program that is too long to be shown. */
const noText: ProgramFiles = { kind: 'bundle', files: [], leftOut: [bundleName], functions: [] };
