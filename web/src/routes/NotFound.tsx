import { Link } from "@tanstack/react-router";
import { Title } from "../ui/states";

export function NotFound() {
  return (
    <main id="main" className="narrow">
      <Title text="No such page" />
      <p>
        The console has no page at this address. <Link to="/">Home</Link>
      </p>
    </main>
  );
}
