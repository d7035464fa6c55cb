import { type FormEvent, useState } from 'react';
import { type Room, useReducer } from './database.ts';
import { useAttempt } from './notices.tsx';

interface Props {
  readonly rooms: readonly Room[];
  readonly current: string | undefined;
  readonly onChosen: () => void;
}

export function Rooms({ rooms, current, onChosen }: Props) {
  const joinRoom = useReducer((reducers) => reducers.joinRoom);
  const attempt = useAttempt();
  const join = async (name: string) => {
    if (await attempt(joinRoom({ name }))) onChosen();
  };
  return (
    <nav aria-label="Rooms">
      <h3>Rooms</h3>
      <ul className="rooms">
        {rooms.map(({ name, topic }) => (
          <li key={name}>
            <button
              type="button"
              title={topic}
              aria-current={name === current ? 'page' : undefined}
              onClick={() => join(name)}
            >
              <span className="hash">#</span> {name}
            </button>
          </li>
        ))}
      </ul>
      <NewRoom onOpened={onChosen} />
    </nav>
  );
}

function NewRoom({ onOpened }: { onOpened: () => void }) {
  const [isOpen, setOpen] = useState(false);
  const openRoom = useReducer((reducers) => reducers.openRoom);
  const attempt = useAttempt();
  const submit = async (event: FormEvent<HTMLFormElement>) => {
    event.preventDefault();
    const form = new FormData(event.currentTarget);
    const name = String(form.get('name'));
    const topic = String(form.get('topic'));
    if (!(await attempt(openRoom({ name, topic })))) return;
    setOpen(false);
    onOpened();
  };
  if (!isOpen) {
    return (
      <button type="button" className="quiet" onClick={() => setOpen(true)}>
        + New room
      </button>
    );
  }
  return (
    <form className="new-room" onSubmit={submit}>
      <input name="name" placeholder="name" aria-label="Name of the room" autoFocus />
      <input name="topic" placeholder="what it is about" aria-label="Topic" />
      <div>
        <button type="submit">Open</button>
        <button type="button" className="quiet" onClick={() => setOpen(false)}>
          Cancel
        </button>
      </div>
    </form>
  );
}
