"""Seeded rows of the retailer, and rounds of changes as statements.

There are few customers, items and days, so that sales, returns and channels meet; one foreign key in seventeen is NULL.
The days are eight weeks in each of three years, 53 and 52 weeks apart, and most sales lie in the weeks around new year's end."""

from __future__ import annotations

import random
from collections.abc import Iterator, Mapping
from datetime import date, timedelta
from decimal import Decimal

from tpcds import Table, tables

Value = int | str | date | Decimal | None
Row = dict[str, Value]

FIRST_DAY, FIRST_DAY_SK = date(1998, 1, 1), 2450815
YEAR_STARTS = (date(1999, 1, 25), date(2000, 1, 31), date(2001, 1, 29))
WEEKS = (0, 1, 13, 26, 43, 44)
CITIES = ("Fairview", "Midway", "Oakland", "Salem")
COUNTIES = ("Ziebach County", "Walker County", "Daviess County")
STATES = ("TN", "GA", "OH")
ZIPS = ("24128", "24536", "85669", "86197")
CATEGORIES = ("Books", "Music", "Sports")
COLORS = ("slate", "blanched", "powder", "orchid")
BUYING = (">10000", "Unknown", "1001-5000", "0-500")
FACTS = ("store_sales", "catalog_sales", "web_sales")

#: Columns of facts that change: each takes the value of another row.
CHANGED = {
    "store_sales": ("ss_quantity", "ss_ext_sales_price", "ss_net_profit", "ss_sold_date_sk", "ss_list_price", "ss_customer_sk"),
    "catalog_sales": ("cs_quantity", "cs_ext_sales_price", "cs_net_profit", "cs_warehouse_sk", "cs_sold_date_sk"),
    "web_sales": ("ws_quantity", "ws_ext_sales_price", "ws_net_paid", "ws_bill_customer_sk", "ws_sold_date_sk"),
    "store_returns": ("sr_return_amt", "sr_customer_sk", "sr_returned_date_sk"),
    "catalog_returns": ("cr_return_quantity", "cr_net_loss", "cr_refunded_cash"),
    "web_returns": ("wr_return_amt", "wr_reason_sk", "wr_return_quantity"),
    "inventory": ("inv_quantity_on_hand", "inv_quantity_on_hand"),
}  # fmt: skip

#: Columns of dimensions that change, in two rows each.
CHANGED_DIMENSIONS: tuple[tuple[str, str, Value], ...] = (
    ("item", "i_category", "Books"), ("item", "i_brand", "brand 1"), ("item", "i_current_price", Decimal("57.50")),
    ("item", "i_manager_id", 2), ("item", "i_color", "slate"), ("item", "i_manufact_id", 2), ("item", "i_product_name", "a product"),
    ("customer", "c_current_addr_sk", 2), ("customer", "c_birth_month", 3), ("customer", "c_current_cdemo_sk", 1),
    ("customer", "c_last_name", "Evans"), ("customer", "c_preferred_cust_flag", "Y"),
    ("customer_address", "ca_state", "GA"), ("customer_address", "ca_gmt_offset", Decimal("-5.00")), ("customer_address", "ca_zip", "85669"),
    ("customer_demographics", "cd_gender", "M"), ("customer_demographics", "cd_marital_status", "M"),
    ("household_demographics", "hd_dep_count", 3), ("household_demographics", "hd_vehicle_count", 2),
    ("store", "s_state", "GA"), ("store", "s_store_name", "ese"), ("warehouse", "w_state", "TN"), ("warehouse", "w_warehouse_name", None),
    ("promotion", "p_channel_email", "Y"), ("promotion", "p_channel_tv", "N"), ("date_dim", "d_qoy", 1), ("date_dim", "d_dow", 1), ("date_dim", "d_day_name", "Monday"), ("time_dim", "t_meal_time", "dinner"),
    ("web_site", "web_company_name", "pri"), ("call_center", "cc_county", "Walker County"), ("ship_mode", "sm_type", "LIBRARY"),
)  # fmt: skip


class Retailer:
    """All rows, as they are after the changes written so far; every change is written as a statement, too."""

    def __init__(self, seed: int = 0) -> None:
        self.rng = random.Random(seed)
        self.tables = tables()
        self.rows: dict[str, dict[tuple[Value, ...], Row]] = {name: {} for name in self.tables}
        self.numbers = dict.fromkeys(FACTS, 0)
        self._dimensions()
        self._facts()

    # -- statements

    def start(self) -> Iterator[str]:
        """What creates and fills the tables."""
        for name, table in self.tables.items():
            yield table.create
            yield insert(table, list(self.rows[name].values()))

    def rounds(self) -> Iterator[tuple[str, list[str]]]:
        """Named rounds of changes."""
        yield "sales and returns come", self._more()
        yield "facts change and go", self._changed()
        yield "dimensions change", self._dimensions_changed()

    def _more(self) -> list[str]:
        before = {name: set(rows) for name, rows in self.rows.items()}
        for channel in FACTS:
            for _ in range(4):
                self._order(channel)
        self._returns(6)
        self._stock(15)
        return [
            insert(self.tables[name], [row for key, row in rows.items() if key not in before[name]])
            for name, rows in self.rows.items()
            if set(rows) - before[name]
        ]

    def _changed(self) -> list[str]:
        found = []
        for name, columns in CHANGED.items():
            for column in columns:
                key, donor = self.rng.sample(sorted(self.rows[name]), 2)
                found.append(self.update(name, key, {column: self.rows[name][donor][column]}))
            for key in self.rng.sample(sorted(self.rows[name]), 4):
                found.append(self.delete(name, key))
        return found

    def _dimensions_changed(self) -> list[str]:
        found = []
        for name, column, value in CHANGED_DIMENSIONS:
            for key in self.rng.sample(sorted(self.rows[name]), min(2, len(self.rows[name]))):
                found.append(self.update(name, key, {column: value}))
        found.append(self.delete("reason", self.rng.choice(sorted(self.rows["reason"]))))
        number = len(self.rows["customer"]) + 1
        self._customer(number)
        found.append(insert(self.tables["customer"], [self.rows["customer"][(number,)]]))
        return found

    def update(self, name: str, key: tuple[Value, ...], values: Mapping[str, Value]) -> str:
        self.rows[name][key].update(values)
        settings = ", ".join(f"{column} = {literal(value)}" for column, value in values.items())
        return f"UPDATE {name} SET {settings} WHERE {self._where(name, key)}"

    def delete(self, name: str, key: tuple[Value, ...]) -> str:
        del self.rows[name][key]
        return f"DELETE FROM {name} WHERE {self._where(name, key)}"

    def _where(self, name: str, key: tuple[Value, ...]) -> str:
        return " AND ".join(f"{c} = {literal(v)}" for c, v in zip(self.tables[name].key, key, strict=True))

    # -- rows

    def _add(self, name: str, values: Row) -> None:
        """A row; the columns that are not named are filled by their type."""
        table = self.tables[name]
        number = len(self.rows[name]) + 1
        row = {c: values[c] if c in values else _filler(c, kind, number) for c, kind in table.columns}
        assert not values.keys() - row.keys(), values.keys() - row.keys()
        self.rows[name][tuple(row[column] for column in table.key)] = row

    def _key(self, name: str) -> int | None:
        """A foreign key: sometimes NULL."""
        if self.rng.random() < 0.06:
            return None
        found = self.rng.choice(sorted(self.rows[name]))[0]
        assert isinstance(found, int)
        return found

    def _customer_key(self) -> int | None:
        """A customer: often one of the first three."""
        return self.rng.randrange(1, 4) if self.rng.random() < 0.5 else self._key("customer")

    def _dimensions(self) -> None:
        for start in YEAR_STARTS:
            for week in WEEKS:
                for day in range(7):
                    self._day(start + timedelta(days=7 * week + day))
        for number, hour in enumerate((8, 9, 12, 13, 17, 18, 20, 21), 1):
            self._add(
                "time_dim",
                {
                    "t_time_sk": hour * 3600 + 60 * (number % 2) * 40,
                    "t_time": hour * 3600 + 60 * (number % 2) * 40,
                    "t_hour": hour,
                    "t_minute": (number % 2) * 40,
                    "t_am_pm": "AM" if hour < 12 else "PM",
                    "t_meal_time": {8: "breakfast", 9: "breakfast", 17: "dinner", 18: "dinner", 20: "dinner"}.get(hour),
                },
            )
        for number in range(1, 11):
            category = number % 3
            self._add(
                "item",
                {
                    "i_item_sk": number,
                    "i_item_id": f"ITEM{(number + 3) // 2 if number < 5 else number:04}",
                    "i_item_desc": f"thing {number % 4}",
                    "i_current_price": Decimal(number * 1137 % 9900) / 100,
                    "i_wholesale_cost": Decimal(number * 637 % 6000) / 100,
                    "i_brand_id": 1 + number % 4,
                    "i_brand": f"brand {1 + number % 4}",
                    "i_class_id": 1 + number % 2,
                    "i_class": f"class {1 + number % 2}",
                    "i_category_id": 1 + category,
                    "i_category": None if number == 10 else CATEGORIES[category],
                    "i_manufact_id": 1 + number % 5,
                    "i_manufact": f"maker {1 + number % 5}",
                    "i_size": ("small", "medium", "large", "N/A")[number % 4],
                    "i_color": COLORS[number % 4],
                    "i_units": ("Ton", "Each", "Dozen")[number % 3],
                    "i_manager_id": 1 + number % 3,
                    "i_product_name": f"product {number}",
                },
            )
        for number in range(1, 7):
            self._add(
                "customer_address",
                {
                    "ca_address_sk": number,
                    "ca_street_name": f"street {number % 3}",
                    "ca_city": CITIES[number % 4],
                    "ca_county": COUNTIES[number % 3],
                    "ca_state": STATES[number % 3],
                    "ca_zip": ZIPS[number % 4],
                    "ca_country": "United States",
                    "ca_gmt_offset": Decimal(-5 - number % 2),
                    "ca_location_type": ("condo", "apartment")[number % 2],
                },
            )
        for number in range(1, 9):
            self._add(
                "customer_demographics",
                {
                    "cd_demo_sk": number,
                    "cd_gender": "MF"[number % 2],
                    "cd_marital_status": "MSDW"[number % 4],
                    "cd_education_status": ("College", "Advanced Degree", "Unknown", "2 yr Degree")[number // 2 % 4],
                    "cd_purchase_estimate": 500 * number,
                    "cd_credit_rating": ("Good", "Low Risk")[number % 2],
                    "cd_dep_count": number % 3,
                    "cd_dep_employed_count": number % 2,
                    "cd_dep_college_count": number % 4,
                },
            )
        for number in range(1, 4):
            lower = (number - 1) * 20000
            band: Row = {"ib_income_band_sk": number, "ib_lower_bound": lower, "ib_upper_bound": lower + 20000}
            self._add("income_band", band)
        for number in range(1, 7):
            self._add(
                "household_demographics",
                {
                    "hd_demo_sk": number,
                    "hd_income_band_sk": 1 + number % 3,
                    "hd_buy_potential": BUYING[number % 4],
                    "hd_dep_count": number % 5,
                    "hd_vehicle_count": number % 4,
                },
            )
        for number in range(1, 10):
            self._customer(number)
        self._places()
        for number in range(1, 4):
            self._add("reason", {"r_reason_sk": number, "r_reason_desc": f"reason {number}"})
            self._add(
                "ship_mode",
                {
                    "sm_ship_mode_sk": number,
                    "sm_type": ("EXPRESS", "LIBRARY", "OVERNIGHT")[number - 1],
                    "sm_carrier": ("DHL", "BARIAN", "UPS")[number - 1],
                },
            )
        for number in range(1, 5):
            self._add(
                "promotion",
                {
                    "p_promo_sk": number,
                    "p_promo_name": ("ought", "able", "pri", "ese")[number - 1],
                    **{
                        f"p_channel_{c}": "YN"[(number >> k) % 2]
                        for k, c in enumerate(("dmail", "email", "tv", "event"))
                    },
                },
            )
            self._add(
                "catalog_page", {"cp_catalog_page_sk": number, "cp_catalog_page_id": f"PAGE{(number + 1) // 2:04}"}
            )
            self._add("web_page", {"wp_web_page_sk": number, "wp_char_count": 4800 + 200 * number})

    def _places(self) -> None:
        for number in range(1, 4):
            place = {"city": CITIES[number % 4], "county": COUNTIES[number % 3], "state": STATES[number % 3]}
            self._add(
                "store",
                {
                    "s_store_sk": number,
                    "s_store_id": f"STORE{(number + 1) // 2:03}",
                    "s_store_name": ("ought", "able", "ese")[number - 1],
                    "s_number_employees": 200 + 40 * number,
                    "s_market_id": 5 + number % 2,
                    "s_company_id": 1,
                    "s_company_name": "Unknown",
                    "s_zip": ZIPS[number % 4],
                    "s_gmt_offset": Decimal(-5 - number % 2),
                    **{f"s_{name}": value for name, value in place.items()},
                },
            )
            self._add(
                "warehouse",
                {
                    "w_warehouse_sk": number,
                    "w_warehouse_name": f"warehouse number {number} of the retailer",
                    "w_warehouse_sq_ft": 100000 * number,
                    "w_country": "United States",
                    **{f"w_{name}": value for name, value in place.items()},
                },
            )
        for number in range(1, 3):
            self._add(
                "call_center",
                {
                    "cc_call_center_sk": number,
                    "cc_call_center_id": f"CALL{number}",
                    "cc_name": ("North Midwest", "Mid Atlantic")[number - 1],
                    "cc_manager": f"manager {number}",
                    "cc_county": COUNTIES[number],
                },
            )
            self._add(
                "web_site",
                {
                    "web_site_sk": number,
                    "web_site_id": f"SITE{number}",
                    "web_name": f"site_{number}",
                    "web_company_name": ("pri", "able")[number - 1],
                },
            )

    def _day(self, day: date) -> None:
        week = (day - date(1900, 1, 1)).days // 7 + 1
        quarter = (day.month - 1) // 3
        sk = _day_sk(day)
        self._add(
            "date_dim",
            {
                "d_date_sk": sk,
                "d_date": day,
                "d_month_seq": (day.year - 1900) * 12 + day.month - 1,
                "d_week_seq": week,
                "d_quarter_seq": (day.year - 1900) * 4 + quarter,
                "d_year": day.year,
                "d_dow": day.isoweekday() % 7,
                "d_moy": day.month,
                "d_dom": day.day,
                "d_qoy": quarter + 1,
                "d_fy_year": day.year,
                "d_fy_quarter_seq": (day.year - 1900) * 4 + quarter,
                "d_fy_week_seq": week,
                "d_day_name": day.strftime("%A"),
                "d_quarter_name": f"{day.year}Q{quarter + 1}",
                "d_holiday": "N",
                "d_weekend": "Y" if day.isoweekday() > 5 else "N",
                "d_following_holiday": "N",
                "d_first_dom": sk - day.day + 1,
                "d_last_dom": sk - day.day + 31,
                "d_same_day_ly": sk - 365,
                "d_same_day_lq": sk - 91,
            },
        )

    def _customer(self, number: int) -> None:
        self._add(
            "customer",
            {
                "c_customer_sk": number,
                "c_customer_id": f"CUST{number:04}",
                "c_current_cdemo_sk": self._key("customer_demographics"),
                "c_current_hdemo_sk": self._key("household_demographics"),
                "c_current_addr_sk": self._key("customer_address"),
                "c_first_shipto_date_sk": self._key("date_dim"),
                "c_first_sales_date_sk": self._key("date_dim"),
                "c_salutation": ("Mr.", "Ms.", "Dr.")[number % 3],
                "c_first_name": ("Ada", "Bo", None, "Dan")[number % 4],
                "c_last_name": ("Adams", "Brown", "Clark", "Diaz", None)[number % 5],
                "c_preferred_cust_flag": (None, "Y", "N", "Y")[number % 4],
                "c_birth_day": number,
                "c_birth_month": 1 + number % 6,
                "c_birth_year": 1950 + number * 5,
                "c_birth_country": ("NORWAY", "ITALY", "UNITED STATES")[number % 3],
            },
        )

    def _facts(self) -> None:
        for _ in range(26):
            self._order("store_sales")
        self._returns(18, ("store_sales",))
        for _ in range(24):
            self._order("catalog_sales")
            self._order("web_sales")
        self._returns(18, ("catalog_sales", "web_sales"))
        self._stock(90)

    def _sale_day(self) -> int | None:
        if self.rng.random() < 0.05:
            return None
        start = self.rng.choice((0, 1, 1, 1, 2, 2))
        week = self.rng.choice((0, 0, 0, 1, 1, 1, 13, 26, 43, 44))
        return _day_sk(YEAR_STARTS[start] + timedelta(days=7 * week + self.rng.choice((0, 1, 2, 4, 5, 6))))

    def _order(self, channel: str) -> None:
        """A ticket or order with two or three items; by catalog and on the web, often what its customer once returned."""
        self.numbers[channel] += 1
        day, time, customer = self._sale_day(), self._key("time_dim"), self._customer_key()
        items = self.rng.sample(range(1, 11), self.rng.choice((2, 2, 3)))
        returned = [r for r in self.rows["store_returns"].values() if r["sr_customer_sk"] is not None]
        if channel != "store_sales" and returned and self.rng.random() < 0.5:
            row = self.rng.choice(returned)
            customer = _integer(row["sr_customer_sk"])
            items = sorted({_integer(row["sr_item_sk"]), *items})
        people = {name: self._key(f"{name}_demographics") for name in ("customer", "household")}
        address, place = self._key("customer_address"), self._key("store")
        shipped = day + self.rng.choice((2, 5, 35, 70, 100)) if day is not None else None
        for item in items:
            money = self._money()
            if channel == "store_sales":
                self._add(channel, {
                    "ss_sold_date_sk": day, "ss_sold_time_sk": time, "ss_item_sk": item, "ss_customer_sk": customer,
                    "ss_cdemo_sk": people["customer"], "ss_hdemo_sk": people["household"], "ss_addr_sk": address, "ss_store_sk": place,
                    "ss_promo_sk": self._key("promotion"), "ss_ticket_number": self.numbers[channel],
                    **{f"ss_{name}": value for name, value in money.items() if "ship" not in name},
                })  # fmt: skip
                continue
            short = "cs" if channel == "catalog_sales" else "ws"
            self._add(channel, {
                f"{short}_sold_date_sk": day, f"{short}_sold_time_sk": time, f"{short}_ship_date_sk": shipped, f"{short}_item_sk": item,
                f"{short}_bill_customer_sk": customer, f"{short}_bill_cdemo_sk": people["customer"],
                f"{short}_bill_hdemo_sk": people["household"], f"{short}_bill_addr_sk": address,
                f"{short}_ship_customer_sk": self.rng.choice((customer, self._key("customer"))),
                f"{short}_ship_cdemo_sk": self._key("customer_demographics"), f"{short}_ship_hdemo_sk": people["household"],
                f"{short}_ship_addr_sk": self._key("customer_address"), f"{short}_ship_mode_sk": self._key("ship_mode"),
                f"{short}_warehouse_sk": self._key("warehouse"), f"{short}_promo_sk": self._key("promotion"),
                f"{short}_order_number": self.numbers[channel],
                **({"cs_call_center_sk": self._key("call_center"), "cs_catalog_page_sk": self._key("catalog_page")} if short == "cs" else
                   {"ws_web_page_sk": self._key("web_page"), "ws_web_site_sk": self._key("web_site")}),
                **{f"{short}_{name}": value for name, value in money.items()},
            })  # fmt: skip

    def _money(self) -> Row:
        quantity = self.rng.randrange(1, 40)
        cost, listed = Decimal(self.rng.randrange(500, 8000)) / 100, Decimal(self.rng.randrange(1000, 20000)) / 100
        price = (listed * self.rng.choice((1, 1, Decimal("0.8"), Decimal("0.5")))).quantize(Decimal("0.01"))
        coupon = self.rng.choice((Decimal(0), Decimal(0), price))
        paid = quantity * price - coupon
        tax = (paid * Decimal("0.07")).quantize(Decimal("0.01"))
        ship = quantity * Decimal("1.25")
        return {
            "quantity": None if self.rng.random() < 0.04 else quantity,
            "wholesale_cost": cost,
            "list_price": listed,
            "sales_price": price,
            "ext_discount_amt": quantity * (listed - price),
            "ext_sales_price": None if self.rng.random() < 0.04 else quantity * price,
            "ext_wholesale_cost": quantity * cost,
            "ext_list_price": quantity * listed,
            "ext_tax": tax,
            "coupon_amt": coupon,
            "ext_ship_cost": ship,
            "net_paid": paid,
            "net_paid_inc_tax": paid + tax,
            "net_paid_inc_ship": paid + ship,
            "net_paid_inc_ship_tax": paid + ship + tax,
            "net_profit": paid - quantity * cost,
        }

    def _returns(self, count: int, channels: tuple[str, ...] = FACTS) -> None:
        for channel in channels:
            for key in self.rng.sample(sorted(self.rows[channel]), count):
                self._return(channel, self.rows[channel][key])

    def _return(self, channel: str, sale: Row) -> None:
        of, to = {"store_sales": ("ss", "sr"), "catalog_sales": ("cs", "cr"), "web_sales": ("ws", "wr")}[channel]
        sold, price = sale[f"{of}_sold_date_sk"], sale[f"{of}_sales_price"]
        assert isinstance(price, Decimal)
        days = sorted(_integer(key[0]) for key in self.rows["date_dim"])
        later = [day for day in days if sold is None or day > _integer(sold)][:14] or days[-3:]
        quantity = self.rng.randrange(1, 10)
        amount = quantity * price
        half = (amount / 2).quantize(Decimal("0.01"))
        values: Row = {
            f"{to}_returned_date_sk": self.rng.choice(later),
            f"{to}_item_sk": sale[f"{of}_item_sk"],
            f"{to}_reason_sk": self._key("reason"),
            f"{to}_return_quantity": quantity,
            f"{to}_return_{'amount' if to == 'cr' else 'amt'}": amount,
            f"{to}_return_tax": (amount * Decimal("0.07")).quantize(Decimal("0.01")),
            f"{to}_return_amt_inc_tax": amount + (amount * Decimal("0.07")).quantize(Decimal("0.01")),
            f"{to}_fee": Decimal(self.rng.randrange(50, 9000)) / 100,
            f"{to}_refunded_cash": half,
            f"{to}_reversed_charge": amount - half,
            f"{to}_{'account' if to == 'wr' else 'store'}_credit": Decimal(0),
            f"{to}_net_loss": Decimal(self.rng.randrange(100, 50000)) / 100,
        }
        if to == "sr":
            same = ("customer_sk", "cdemo_sk", "hdemo_sk", "addr_sk", "store_sk", "ticket_number")
            values.update({f"sr_{name}": sale[f"ss_{name}"] for name in same})
        else:
            values[f"{to}_order_number"] = sale[f"{of}_order_number"]
            for name in ("customer_sk", "cdemo_sk", "hdemo_sk", "addr_sk"):
                values[f"{to}_refunded_{name}"] = sale[f"{of}_bill_{name}"]
                values[f"{to}_returning_{name}"] = sale[f"{of}_{self.rng.choice(('bill', 'ship'))}_{name}"]
            places = ("call_center_sk", "catalog_page_sk", "warehouse_sk") if to == "cr" else ("web_page_sk",)
            values.update({f"{to}_{name}": sale[f"{of}_{name}"] for name in places})
        name = {"sr": "store_returns", "cr": "catalog_returns", "wr": "web_returns"}[to]
        if (sale[f"{of}_item_sk"], values[f"{to}_{'ticket' if to == 'sr' else 'order'}_number"]) not in self.rows[name]:
            self._add(name, values)

    def _stock(self, count: int) -> None:
        """Quantities on hand, on the Mondays."""
        mondays = [
            _day_sk(start + timedelta(days=7 * week)) for start in YEAR_STARTS[1:] for week in (0, 0, 1, 1, 26, 44)
        ]
        for _ in range(count):
            item = self.rng.choice((1, 1, 1, 2, 2, 2, 3, 3, 4, 5, 6, 7, 8, 9, 10))
            key = (self.rng.choice(mondays), item, self.rng.choice((1, 1, 1, 2, 2, 3)))
            if key not in self.rows["inventory"]:
                quantity = None if self.rng.random() < 0.05 else self.rng.randrange(0, 600)
                stock: Row = {"inv_date_sk": key[0], "inv_item_sk": key[1], "inv_warehouse_sk": key[2]}
                self._add("inventory", {**stock, "inv_quantity_on_hand": quantity})


def insert(table: Table, rows: list[Row]) -> str:
    listed = ",\n".join(f"({', '.join(literal(value) for value in row.values())})" for row in rows)
    return f"INSERT INTO {table.name} VALUES\n{listed}"


def literal(value: Value) -> str:
    if value is None:
        return "NULL"
    if isinstance(value, date):
        return f"DATE '{value}'"
    return f"'{value}'" if isinstance(value, str) else str(value)


def _day_sk(day: date) -> int:
    return FIRST_DAY_SK + (day - FIRST_DAY).days


def _integer(value: Value) -> int:
    assert isinstance(value, int)
    return value


def _filler(column: str, kind: str, number: int) -> Value:
    if kind == "STRING":
        return f"{column.split('_', 1)[1]} {number}"
    if kind == "DATE":
        return date(1997, 3, 13) if column.endswith("start_date") else None
    return number if kind == "INT" else Decimal(number)
