import type { ComponentChildren } from "preact";
import { useEffect, useLayoutEffect, useRef, useState } from "preact/hooks";

interface VirtualProps {
  readonly label: string;
  readonly id: string;
  readonly count: number;
  /** Pixels of a row. */
  readonly height: number;
  /** The chosen row's position. */
  readonly chosen: number;
  /** Stays at the end while rows are added, until the user scrolls up. */
  readonly follow?: boolean;
  readonly choose: (at: number) => void;
  readonly row: (at: number) => ComponentChildren;
  readonly empty: string;
}

/** Rows beyond the visible ones, so that a quick scroll shows no holes. */
const SPARE = 10;

/** A list of which only the visible rows are in the document. It is one stop of the Tab key; arrows choose a row. */
export function Virtual(props: VirtualProps) {
  const { label, id, count, height, chosen, choose, row, empty } = props;
  const { box, top, size, scrolled } = useScroll(props);
  const first = Math.max(0, Math.floor(top / height) - SPARE);
  const last = Math.min(count, Math.ceil((top + size) / height) + SPARE);
  const pressed = (event: KeyboardEvent) => {
    const to = stepOf(event.key, { chosen, count, page: Math.max(1, Math.floor(size / height) - 1) });
    if (to === undefined || count === 0) return;
    event.preventDefault();
    choose(Math.min(count - 1, Math.max(0, to)));
  };
  const visible = Array.from({ length: Math.max(0, last - first) }, (_, offset) => first + offset);
  // A row's element is used again for another one: a long scroll makes no new ones.
  const elements = Math.ceil(size / height) + 2 * SPARE + 2;
  const isChosenVisible = chosen >= first && chosen < last;
  return (
    <div
      class="virtual"
      ref={box}
      role="listbox"
      id={id}
      aria-label={label}
      aria-activedescendant={isChosenVisible ? `${id}-${chosen}` : undefined}
      tabIndex={0}
      onScroll={scrolled}
      onKeyDown={pressed}
    >
      {count === 0 && (
        <div class="empty" role="option" aria-selected="false" aria-disabled="true" tabIndex={-1}>
          {empty}
        </div>
      )}
      <div class="all" role="presentation" style={{ height: `${count * height}px` }}>
        {visible.map((at) => (
          // biome-ignore lint/a11y/useKeyWithClickEvents: the list has the keys
          <div
            key={at % elements}
            class="row"
            role="option"
            tabIndex={-1}
            id={`${id}-${at}`}
            aria-selected={at === chosen}
            aria-posinset={at + 1}
            aria-setsize={count}
            style={{ top: `${at * height}px`, height: `${height}px` }}
            onClick={() => choose(at)}
          >
            {row(at)}
          </div>
        ))}
      </div>
    </div>
  );
}

/** Where a list is scrolled to. It follows the chosen row, and at the end the rows that are added. */
function useScroll({ count, height, chosen, follow = false }: VirtualProps) {
  const box = useRef<HTMLDivElement>(null);
  const [top, setTop] = useState(0);
  const [size, setSize] = useState(600);
  const atEnd = useRef(true);
  useEffect(() => {
    const observer = new ResizeObserver(() => setSize(box.current!.clientHeight));
    observer.observe(box.current!);
    return () => observer.disconnect();
  }, []);
  useLayoutEffect(() => {
    if (follow && atEnd.current) box.current!.scrollTop = box.current!.scrollHeight;
  }, [count, follow]);
  useLayoutEffect(() => {
    const { scrollTop, clientHeight } = box.current!;
    const at = chosen * height;
    if (chosen < 0 || (at >= scrollTop && at + height <= scrollTop + clientHeight)) return;
    box.current!.scrollTop = Math.max(0, at - clientHeight / 2);
  }, [chosen, height]);
  const scrolled = () => {
    const { scrollTop, scrollHeight, clientHeight } = box.current!;
    atEnd.current = scrollTop + clientHeight >= scrollHeight - height;
    setTop(scrollTop);
  };
  return { box, top, size, scrolled };
}

/** The row that a key chooses, also beyond the first and the last. */
function stepOf(key: string, { chosen, count, page }: Readonly<Record<"chosen" | "count" | "page", number>>) {
  const steps: Readonly<Record<string, number>> = {
    ArrowDown: chosen + 1,
    ArrowUp: chosen - 1,
    PageDown: chosen + page,
    PageUp: chosen - page,
    Home: 0,
    End: count - 1,
  };
  return steps[key];
}
