import { limits } from '../../limits.ts';
import { framed } from '../../node/frames.ts';
import { linkedFileBytesMax } from './linked-file.ts';

/**
 * Messages between the gateway and a linker, as frames (`frames.ts`):
 *
 * ```
 * to it      0  a program
 * from it    1  refused: a text for the publisher, in UTF-8
 *            2  linked: the program, see `linked-file.ts`
 * ```
 */
const frameKinds = { program: 0, refused: 1, linked: 2 } as const;

/** Kind and program; kind and answer. */
export const programFrameBytesMax = 1 + limits.programBytesMax;
export const answerFrameBytesMax = 1 + linkedFileBytesMax;

export type LinkerAnswer =
  /** See `linked-file.ts`. */
  | { readonly kind: 'linked'; readonly bytes: Uint8Array }
  /** The text is for the publisher. */
  | { readonly kind: 'refused'; readonly message: string };

export function programFrame(program: Uint8Array): readonly Uint8Array[] {
  return framed(frameKinds.program, [program], programFrameBytesMax);
}

export function answerFrame(answer: LinkerAnswer): readonly Uint8Array[] {
  const body = answer.kind === 'linked' ? answer.bytes : Buffer.from(answer.message);
  return framed(frameKinds[answer.kind], [body], answerFrameBytesMax);
}

/** The bytes of a linked program have a buffer of their own. Throws on an unknown kind. */
export function readAnswer(kind: number, body: Buffer): LinkerAnswer {
  switch (kind) {
    case frameKinds.linked:
      return { kind: 'linked', bytes: new Uint8Array(body) };
    case frameKinds.refused:
      return { kind: 'refused', message: body.toString() };
    default:
      throw new Error(`a frame of the unknown kind ${kind}`);
  }
}
