import { limits } from '../limits.ts';

/**
 * Cuts each text of a line to its bound; returns the same object if none is too long. All of them
 * can come from a program: file names are in its source map, and function names can be anything.
 */
export function boundedLine(line: ModuleLogLine): ModuleLogLine {
  if (isBounded(line)) return line;
  const { target, fileName, functionName, trace } = line;
  return {
    level: line.level,
    message: cutToBytes(line.message, limits.logLineBytesMax),
    ...(target !== undefined && { target: cutName(target) }),
    ...(fileName !== undefined && { fileName: cutName(fileName) }),
    ...(line.lineNumber !== undefined && { lineNumber: line.lineNumber }),
    ...(functionName !== undefined && { functionName: cutName(functionName) }),
    ...(trace !== undefined && { trace: trace.slice(0, limits.traceFramesMax).map(cutFrame) }),
  };
}

function isBounded({ message, target, fileName, functionName, trace }: ModuleLogLine): boolean {
  return (
    message.length * 3 <= limits.logLineBytesMax &&
    isName(target) &&
    isName(fileName) &&
    isName(functionName) &&
    (trace === undefined ||
      (trace.length <= limits.traceFramesMax &&
        trace.every((frame) => isName(frame.moduleName) && isName(frame.functionName))))
  );
}

function isName(text: string | undefined): boolean {
  return text === undefined || text.length <= limits.logNameCharactersMax;
}

function cutFrame({ moduleName, functionName }: TraceFrame): TraceFrame {
  return {
    moduleName: moduleName === undefined ? undefined : cutName(moduleName),
    functionName: functionName === undefined ? undefined : cutName(functionName),
  };
}

/** A name as written to a log: at most `limits.logNameCharactersMax`, with a mark if cut. */
export function cutName(name: string): string {
  return cutText(name, limits.logNameCharactersMax);
}

/** The first `charactersMax` characters of `text`; the last of them is a mark if any were cut. */
export function cutText(text: string, charactersMax: number): string {
  return text.length <= charactersMax ? text : `${text.slice(0, charactersMax - 1)}…`;
}

/** The longest beginning of `text` of at most `bytesMax` bytes in UTF-8, with a mark if cut. */
export function cutToBytes(text: string, bytesMax: number): string {
  if (text.length * 3 <= bytesMax) return text;
  const mark = '…';
  // Every character takes at least a byte, so the encoding is bounded too.
  const bytes = new TextEncoder().encode(text.slice(0, bytesMax + 1));
  if (bytes.length <= bytesMax) return text;
  // A cut must not fall before a byte that continues a character.
  let end = bytesMax - 3;
  while (end > 0 && ((bytes[end] ?? 0) & 0xc0) === 0x80) end -= 1;
  return new TextDecoder().decode(bytes.subarray(0, end)) + mark;
}

/** Approximate memory of a line: two bytes for each character, and its objects. */
export function lineBytes(line: ModuleLogLine): number {
  return 2 * lineCharacters(line) + objectBytes * (1 + (line.trace?.length ?? 0));
}

const objectBytes = 128;

/** Characters of all texts of a line. */
export function lineCharacters(line: ModuleLogLine): number {
  const { message, target, fileName, functionName, trace } = line;
  let characters = message.length + lengthOf(target) + lengthOf(fileName) + lengthOf(functionName);
  for (const frame of trace ?? []) {
    characters += lengthOf(frame.moduleName) + lengthOf(frame.functionName);
  }
  return characters;
}

function lengthOf(text: string | undefined): number {
  return text === undefined ? 0 : text.length;
}

export type LogLevel = 'error' | 'warn' | 'info' | 'debug' | 'trace' | 'panic';

export interface ModuleLogLine {
  readonly level: LogLevel;
  readonly message: string;
  readonly functionName?: string;
  readonly fileName?: string;
  readonly lineNumber?: number;
  readonly target?: string;
  readonly trace?: readonly TraceFrame[];
}

export interface TraceFrame {
  /** Source file as the author knows it, with `:line:column`. */
  readonly moduleName: string | undefined;
  readonly functionName: string | undefined;
}
