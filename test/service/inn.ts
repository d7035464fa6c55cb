import { type Person, Running } from './running.ts';

/** A service with the database `inn`, and who comes to it. */
export interface Inn {
  readonly running: Running;
  readonly owner: Person;
  readonly stranger: Person;
  /** Of the database. */
  readonly identity: string;
}

export async function openInn(): Promise<Inn> {
  const running = await Running.start();
  const owner = await running.person();
  const stranger = await running.person();
  const { status, text } = await running.publish('inn', 'inn', owner);
  if (status !== 200) throw new Error(text);
  const identity: string = JSON.parse(text).Success.database_identity;
  return { running, owner, stranger, identity };
}
