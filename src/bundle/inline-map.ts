/** A program, and the source map that its last line carries. */
export interface MappedProgram {
  /** Without that line. */
  readonly code: string;
  /** Its text; `undefined`: the program carries none. */
  readonly map: string | undefined;
}

/** Takes the source map of a program, as bundlers write it, off its end. */
export function splitMap(program: string): MappedProgram {
  const at = program.lastIndexOf(`\n${lineStart}`);
  const line = at < 0 ? '' : program.slice(at + 1 + lineStart.length).trimEnd();
  const head = urlHead.exec(line.slice(0, headCharactersMax))?.[0];
  const data = head === undefined ? '' : line.slice(head.length);
  if (data === '' || /[^\w+/=]/.test(data)) return { code: program, map: undefined };
  return { code: program.slice(0, at + 1), map: Buffer.from(data, 'base64').toString() };
}

const lineStart = '//# sourceMappingURL=';
const urlHead = /^data:application\/json;(?:charset=utf-?8;)?base64,/;
const headCharactersMax = 64;
