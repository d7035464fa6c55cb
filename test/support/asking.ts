/** One caller of a service over HTTP. */
export interface Caller {
  readonly identity: string;
  readonly token: string;
}

export interface Asked {
  readonly as?: Caller | undefined;
  readonly body?: string | Uint8Array<ArrayBuffer>;
  readonly headers?: Record<string, string>;
}

export interface Answered {
  readonly status: number;
  readonly text: string;
  readonly headers: Headers;
}

interface Asking {
  readonly url: string;
}

export async function newCaller({ url }: Asking): Promise<Caller> {
  const answer = await fetch(`${url}/v1/identity`, { method: 'POST' });
  return (await answer.json()) as Caller;
}

export async function ask(
  { url }: Asking,
  method: string,
  where: string,
  { as, body, headers = {} }: Asked = {},
): Promise<Answered> {
  const token = as === undefined ? {} : { authorization: `Bearer ${as.token}` };
  const init = { method, headers: { ...token, ...headers }, ...(body !== undefined && { body }) };
  const answer = await fetch(url + where, init);
  return { status: answer.status, text: await answer.text(), headers: answer.headers };
}
