import { type FormEvent, useRef, useState } from 'react';
import { useProcedure, useReducer, useTable } from 'reducerdb/react';
import { procedures, reducers, tables } from './module_bindings/index.ts';
import type { Profile } from './module_bindings/types.ts';
import { useAttempt, wordsFor } from './notices.tsx';

export function Header({ me }: { me: Profile }) {
  const dialog = useRef<HTMLDialogElement>(null);
  return (
    <header className="top">
      <h1>
        <a href="#/">Helpdesk</a>
      </h1>
      <Team />
      <button type="button" className="quiet who" onClick={() => dialog.current?.showModal()}>
        <span className="name">{me.name === '' ? 'Who are you?' : me.name}</span>
        {me.isAgent && <span className="chip">agent</span>}
      </button>
      <dialog ref={dialog} aria-label="You" closedby="any">
        <Name me={me} onDone={() => dialog.current?.close()} />
        {me.isAgent ? <Leave /> : <Join />}
        <form method="dialog">
          <button type="submit" className="quiet">
            Close
          </button>
        </form>
      </dialog>
    </header>
  );
}

/** Who of the team is there, for everybody to see. */
function Team() {
  const [agents, isReady] = useTable(tables.agent);
  const names = agents.filter(({ online }) => online).map(({ name }) => name);
  if (!isReady) return <p className="team" />;
  return (
    <p className={names.length > 0 ? 'team online' : 'team'}>
      {names.length > 0
        ? `${names.sort().join(', ')} ${names.length > 1 ? 'are' : 'is'} here`
        : 'Nobody of the team is here right now'}
    </p>
  );
}

function Name({ me, onDone }: { me: Profile; onDone: () => void }) {
  const setName = useReducer(reducers.setName);
  const save = async (name: string) => {
    await setName({ name });
    onDone();
  };
  return <OneField label="Your name" button="Save" given={me.name} submit={save} />;
}

function Join() {
  const joinTeam = useProcedure(procedures.joinTeam);
  const join = async (code: string) => {
    if (!(await joinTeam({ code }))) throw new Error('That is not the code of the team.');
  };
  return <OneField label="Code of the team" button="Join" type="password" submit={join} />;
}

interface OneFieldProps {
  readonly label: string;
  readonly button: string;
  readonly type?: 'text' | 'password';
  readonly given?: string;
  /** What it throws is shown below the field. */
  readonly submit: (text: string) => Promise<void>;
}

function OneField({ label, button, type = 'text', given = '', submit }: OneFieldProps) {
  const [problem, setProblem] = useState('');
  const trySubmit = async (event: FormEvent<HTMLFormElement>) => {
    event.preventDefault();
    const text = String(new FormData(event.currentTarget).get('text'));
    setProblem('');
    await submit(text).catch((error) => setProblem(wordsFor(error)));
  };
  return (
    <form onSubmit={trySubmit}>
      <label>
        {label}
        <input name="text" type={type} defaultValue={given} autoComplete="off" />
      </label>
      <button type="submit">{button}</button>
      <p className="problem" role="alert">
        {problem}
      </p>
    </form>
  );
}

function Leave() {
  const leaveTeam = useReducer(reducers.leaveTeam);
  const attempt = useAttempt();
  return (
    <button type="button" className="quiet" onClick={() => attempt(leaveTeam())}>
      Leave the team
    </button>
  );
}
