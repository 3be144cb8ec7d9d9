import type { Port, PortEvents } from "@parlance/wire";
import type { PacedPort } from "@parlance/wire/link";

/** A channel's port, which begins plainly and may be replaced while the channel is open. */
export interface SwitchPort extends Port {
  /** Replaces the port by one that goes on over the same socket. Does nothing once the channel is closing. */
  replace(make: (paced: PacedPort) => Port): void;
}

/**
 * Opens a channel plainly, before it is known whether its server resumes. A page then loads what resuming needs only for a server that
 * does.
 */
export function switchPort(paced: PacedPort): SwitchPort {
  let port: Port = paced;
  let on: PortEvents | undefined;
  let closing = false;
  return {
    send: (frame) => port.send(frame),
    full: () => port.full!(),
    room: () => port.room!(),
    flushed: () => port.flushed!(),
    close(code, reason) {
      closing = true;
      port.close(code, reason);
    },
    listen(events) {
      on = {
        frame: events.frame,
        close(...how) {
          closing = true;
          events.close(...how);
        },
      };
      port.listen(on);
    },
    replace(make) {
      if (closing) return;
      port = make(paced);
      if (on) port.listen(on);
    },
  };
}
