import { type FormEvent, useState } from 'react';
import type { Identity } from 'reducerdb/client';
import { Avatar, nameOf } from './avatar.tsx';
import { type User, useReducer } from './database.ts';
import { useAttempt } from './notices.tsx';

interface Props {
  readonly users: readonly User[];
  readonly me: Identity | undefined;
}

export function People({ users, me }: Props) {
  const others = users.filter(({ identity }) => me === undefined || !identity.equals(me));
  const sorted = others.toSorted((a, b) => {
    return Number(b.online) - Number(a.online) || nameOf(a).localeCompare(nameOf(b));
  });
  const myself = users.find((user) => !others.includes(user));
  const onlineCount = users.filter(({ online }) => online).length;
  return (
    <section className="people" aria-label="People">
      <h3>
        People <span>{onlineCount} online</span>
      </h3>
      <ul>
        {sorted.map((user) => (
          <li key={user.identity.toHexString()} className={user.online ? 'online' : 'away'}>
            <Avatar user={user} />
            <span className="name">{nameOf(user)}</span>
            <span className="where">{user.online ? `# ${user.room}` : 'away'}</span>
          </li>
        ))}
      </ul>
      {myself !== undefined && <Me user={myself} />}
    </section>
  );
}

/** Ourselves; a click on the name changes it. */
function Me({ user }: { user: User }) {
  const [isEditing, setEditing] = useState(false);
  const setName = useReducer((reducers) => reducers.setName);
  const attempt = useAttempt();
  const submit = async (event: FormEvent<HTMLFormElement>) => {
    event.preventDefault();
    const name = String(new FormData(event.currentTarget).get('name'));
    if (await attempt(setName({ name }))) setEditing(false);
  };
  return (
    <div className="me">
      <Avatar user={user} />
      {isEditing ? (
        <form onSubmit={submit}>
          <input
            name="name"
            aria-label="Your name"
            placeholder="your name"
            defaultValue={user.name ?? ''}
            autoFocus
            onKeyDown={({ key }) => key === 'Escape' && setEditing(false)}
          />
          <button type="submit">Save</button>
        </form>
      ) : (
        <button type="button" className="quiet" onClick={() => setEditing(true)}>
          <span className="name">{nameOf(user)}</span>
          <span className="where">{user.name === undefined ? 'choose a name' : 'that is you'}</span>
        </button>
      )}
    </div>
  );
}
