import { type FormEvent, useState } from 'react';
import { useReducer } from './hooks.ts';

export function Composer({ onProblem }: { onProblem: (text: string) => void }) {
  const addNote = useReducer((reducers) => reducers.addNote);
  const [text, setText] = useState('');

  const add = async (event: FormEvent) => {
    event.preventDefault();
    const added = await addNote.result({ text });
    onProblem(added.ok ? '' : added.error.message);
    if (added.ok) setText('');
  };

  return (
    <form className="composer" onSubmit={add}>
      <input
        aria-label="Note"
        placeholder="Write a note"
        value={text}
        onChange={({ target }) => setText(target.value)}
      />
      <button type="submit">Add</button>
    </form>
  );
}
