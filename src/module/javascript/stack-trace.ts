import { limits } from '../../limits.ts';
import { traceEndFunction } from '../../protocol/module-abi.ts';
import type { TraceFrame } from '../log-line.ts';
import { cutName } from '../log-line.ts';
import { bridgeFileName, programFileName, programLinesBefore } from './bridge-source.ts';
import { readSourceMap, type SourceMap, type SourcePosition } from './source-map.ts';

/**
 * Sources of the module SDK carry this prefix in a program's map (see `bundle/build-module.ts`).
 */
export const sdkSourcePrefix = 'reducerdb/';

/**
 * Turns the stack texts of a program into frames in its author's files. A text comes from the
 * program's realm, so it proves nothing; it is cut and read without trust.
 */
export class StackReader {
  readonly #map: SourceMap;

  /** `sourceMap` maps the program's script; empty = none. */
  constructor(sourceMap: string) {
    this.#map = readSourceMap(sourceMap);
  }

  /**
   * The program's frames, innermost first, at most `limits.traceFramesMax`, without what called it
   * and without the SDK below it.
   */
  frames(stack: string): TraceFrame[] {
    const frames: (TraceFrame & { readonly isSdk: boolean })[] = [];
    for (const line of stack.split('\n')) {
      if (frames.length === limits.traceFramesMax) break;
      const frame = parseFrame(line);
      if (frame === undefined) continue;
      if (frame.file === bridgeFileName) {
        if (frames.length > 0) break;
        continue;
      }
      if (frame.functionName?.includes(traceEndFunction) === true) break;
      if (frame.file !== programFileName) continue;
      const position = this.#positionOf(frame);
      if (position === undefined) continue;
      frames.push({
        moduleName: `${position.source}:${position.line}:${position.column}`,
        functionName: frame.functionName === undefined ? undefined : cutName(frame.functionName),
        isSdk: position.source.startsWith(sdkSourcePrefix),
      });
    }
    while (frames.at(-1)?.isSdk === true && frames.some((frame) => !frame.isSdk)) frames.pop();
    return frames.map(({ moduleName, functionName }) => ({ moduleName, functionName }));
  }

  /** The innermost position in the author's own files; `undefined` if there is none. */
  caller(stack: string): SourcePosition | undefined {
    for (const line of stack.split('\n')) {
      const frame = parseFrame(line);
      if (frame?.file !== programFileName) continue;
      const position = this.#positionOf(frame);
      if (position !== undefined && !position.source.startsWith(sdkSourcePrefix)) return position;
    }
    return undefined;
  }

  #positionOf(frame: StackFrame): SourcePosition | undefined {
    return this.#map.originalPosition(frame.line - programLinesBefore, frame.column);
  }
}

interface StackFrame {
  readonly functionName: string | undefined;
  readonly file: string;
  readonly line: number;
  readonly column: number;
}

/** `    at name (file:line:column)` or `    at file:line:column`. */
function parseFrame(line: string): StackFrame | undefined {
  const match = /^\s*at (?:(.*) \()?([^()\s]+):(\d+):(\d+)\)?$/.exec(line);
  if (match === null) return undefined;
  const [, functionName, file = '', row, column] = match;
  return { functionName, file, line: Number(row), column: Number(column) };
}
