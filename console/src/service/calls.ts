import { databasePath, send } from './http.ts';
import { type Json, parseJson } from './json.ts';
import { currentToken } from './session-token.ts';

/** What a call of a reducer or a procedure came to. */
export interface CallAnswer {
  /** Absent: the function returns nothing. */
  readonly value: Json | undefined;
  readonly micros: number | null;
}

/** `POST /v1/database/:db/call/:name`, with arguments by name or in their order. */
export async function callFunction(
  database: string,
  name: string,
  args: Json,
): Promise<CallAnswer> {
  const answer = await send(databasePath(database, 'call', name), {
    method: 'POST',
    body: args,
  });
  const text = await answer.text();
  const micros = answer.headers.get('spacetime-execution-duration-micros');
  return {
    value: text === '' ? undefined : parseJson(text),
    micros: micros === null ? null : Number(micros),
  };
}

/** What a handler of the module answered. */
export interface HandlerAnswer {
  readonly status: number;
  readonly headers: readonly (readonly [string, string])[];
  /** The beginning of its body, as text. */
  readonly text: string;
  readonly isCut: boolean;
}

const handlerTextMax = 64 * 1024;

/** Sends a request to a route of the module, with the token of who is signed in. */
export async function askHandler(
  address: string,
  method: string,
  body: string,
): Promise<HandlerAnswer> {
  const token = currentToken();
  const hasBody = body !== '' && method !== 'GET' && method !== 'HEAD';
  const answer = await fetch(address, {
    method,
    headers: {
      ...(token === undefined ? {} : { authorization: `Bearer ${token}` }),
      ...(hasBody ? { 'content-type': isJson(body) ? 'application/json' : 'text/plain' } : {}),
    },
    ...(hasBody ? { body } : {}),
  });
  const { text, isCut } = await beginningOf(answer);
  return { status: answer.status, headers: [...answer.headers], text, isCut };
}

/** Reads as much of an answer as is shown, and leaves the rest. */
async function beginningOf(answer: Response): Promise<{ text: string; isCut: boolean }> {
  const reader = answer.body?.pipeThrough(new TextDecoderStream()).getReader();
  if (reader === undefined) return { text: '', isCut: false };
  let text = '';
  while (text.length <= handlerTextMax) {
    const { done, value } = await reader.read();
    if (done) return { text, isCut: false };
    text += value;
  }
  await reader.cancel();
  return { text: text.slice(0, handlerTextMax), isCut: true };
}

function isJson(text: string): boolean {
  try {
    JSON.parse(text);
    return true;
  } catch {
    return false;
  }
}
