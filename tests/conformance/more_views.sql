-- More views over the shop of the conformance set: other spellings, other functions, other nestings. ``on: spark`` says that
-- DuckDB has no such function or reads it otherwise.

-- view: not_null_safe_equal | expect: incremental
SELECT ALL status, channel FROM orders WHERE NOT (status <=> channel);
-- view: star_except | expect: incremental
SELECT o.* EXCEPT (channel) FROM orders o;
-- view: natural_join | expect: incremental
SELECT c.name, o.order_id FROM customers c NATURAL JOIN orders o;
-- view: lateral_aggregate | expect: incremental
SELECT * FROM customers c JOIN LATERAL (SELECT count(*) AS n, max(order_id) AS m FROM orders o WHERE o.cust_id = c.cust_id) l;
-- view: lateral_top_one | expect: incremental
SELECT c.name, l.order_id FROM customers c LEFT JOIN LATERAL (SELECT o.order_id FROM orders o WHERE o.cust_id = c.cust_id ORDER BY o.order_id DESC LIMIT 1) l ON true;
-- view: lateral_union | expect: incremental
SELECT c.name, x.order_id FROM customers c CROSS JOIN LATERAL (SELECT order_id FROM orders o WHERE o.cust_id = c.cust_id UNION ALL SELECT i.order_id FROM items i WHERE i.qty = c.cust_id) x;
-- view: pairs_in | expect: incremental
SELECT name FROM customers WHERE (city, segment) IN (SELECT city, segment FROM customers WHERE referrer_id IS NOT NULL);
-- view: pairs_not_in | expect: incremental
SELECT name FROM customers c WHERE (cust_id, city) NOT IN (SELECT b.cust_id, b.reason FROM blocked b);
-- view: two_counts_equal | expect: incremental
SELECT c.name FROM customers c WHERE (SELECT count(*) FROM orders o WHERE o.cust_id = c.cust_id) = (SELECT count(*) FROM visits v WHERE v.cust_id = c.cust_id);
-- view: share_of_all_groups | expect: incremental
SELECT status, count(*) AS n, count(*) * 100.0 / sum(count(*)) OVER () AS pct FROM orders GROUP BY status;
-- view: rank_of_groups | expect: incremental
SELECT city, segment, count(*) AS n, rank() OVER (PARTITION BY city ORDER BY count(*) DESC, segment) AS r FROM customers GROUP BY city, segment;
-- view: moving_mean | expect: incremental
SELECT order_id, qty, avg(qty) OVER (ORDER BY order_id, line ROWS BETWEEN 2 PRECEDING AND 1 FOLLOWING) AS ma FROM items;
-- view: distribution_functions | expect: incremental
SELECT order_id, line, ntile(3) OVER (ORDER BY qty, order_id, line) AS t, percent_rank() OVER (ORDER BY qty) AS p, cume_dist() OVER (ORDER BY qty) AS c FROM items;
-- view: named_window | expect: incremental
SELECT order_id, line, first_value(qty) OVER w AS f, last_value(qty) OVER w AS l, nth_value(qty, 2) OVER w AS n2 FROM items WINDOW w AS (PARTITION BY order_id ORDER BY line);
-- view: lag_with_default | expect: incremental
SELECT order_id, lag(status, 2, 'none') OVER (ORDER BY order_id) AS s FROM orders;
-- view: lag_ignore_nulls | expect: incremental
SELECT order_id, lag(channel) IGNORE NULLS OVER (ORDER BY order_id) AS s FROM orders;
-- view: newest_two | expect: incremental
SELECT * FROM (SELECT o.*, row_number() OVER (PARTITION BY cust_id ORDER BY placed DESC, order_id DESC) AS rn FROM orders o) WHERE rn <= 2;
-- view: qualify_first | expect: incremental
SELECT * FROM orders QUALIFY row_number() OVER (PARTITION BY cust_id ORDER BY order_id) = 1;
-- view: row_number_over_bag | expect: incremental
SELECT page, seconds, row_number() OVER (PARTITION BY page ORDER BY seconds, cust_id) AS rn FROM visits;
-- view: running_sum_over_bag | expect: incremental
SELECT page, sum(seconds) OVER (PARTITION BY page ORDER BY seconds) AS rs FROM visits;
-- view: rows_frame_over_bag | expect: incremental
SELECT page, sum(seconds) OVER (PARTITION BY page ORDER BY seconds NULLS LAST ROWS BETWEEN UNBOUNDED PRECEDING AND CURRENT ROW) AS rs FROM visits;
-- view: count_if_and_approximate | expect: incremental
SELECT page, count_if(seconds > 10) AS c, approx_count_distinct(cust_id) AS a FROM visits GROUP BY page;
-- view: listagg_ordered | expect: incremental
SELECT cust_id, listagg(page, ',') WITHIN GROUP (ORDER BY page) AS pages FROM visits GROUP BY cust_id;
-- view: joined_set | expect: incremental
SELECT cust_id, array_join(sort_array(collect_set(status)), '|') AS st FROM orders GROUP BY cust_id;
-- view: max_of_struct | expect: incremental
SELECT category, max(struct(price, title)) AS top FROM products GROUP BY category;
-- view: field_of_max_of_struct | expect: incremental
SELECT category, max(struct(price, title)).title AS top FROM products GROUP BY category;
-- view: lambdas | expect: incremental
SELECT prod_id, transform(tags, x -> upper(x)) AS up, filter(tags, x -> x LIKE 'd%') AS d FROM products;
-- view: explode_in_select | expect: incremental
SELECT explode(tags) AS tag, prod_id FROM products;
-- view: group_by_all | expect: incremental
SELECT year(placed) AS y, quarter(placed) AS q, date_trunc('month', placed) AS m, count(*) AS n FROM orders GROUP BY ALL;
-- view: partial_rollup | expect: incremental
SELECT city, CASE WHEN grouping(segment) = 1 THEN 'all' ELSE segment END AS seg, count(*) AS n FROM customers GROUP BY city, ROLLUP(segment);
-- view: having_without_group | expect: incremental
SELECT count(*) AS n, count(DISTINCT city) AS c FROM customers HAVING count(*) > 3;
-- view: distinct_counts | expect: incremental
SELECT DISTINCT count(*) AS n FROM orders GROUP BY cust_id;
-- view: count_distinct_of_two | expect: incremental
SELECT count(DISTINCT cust_id, page) AS n FROM visits;
-- view: distinct_and_plain_aggregates | expect: incremental
SELECT cust_id, sum(DISTINCT seconds) AS s, count(DISTINCT page) AS p, max(seconds) AS m FROM visits GROUP BY cust_id;
-- view: distinct_over_left_joins | expect: incremental
SELECT c.city, count(DISTINCT o.order_id) AS orders, count(DISTINCT i.prod_id) AS prods, sum(i.qty) AS q FROM customers c LEFT JOIN orders o USING (cust_id) LEFT JOIN items i USING (order_id) GROUP BY c.city;
-- view: full_join_using | expect: incremental
SELECT * FROM customers c FULL JOIN blocked b USING (cust_id);
-- view: full_join_on_a_range | expect: incremental
SELECT c.cust_id, b.reason FROM customers c FULL JOIN blocked b ON c.cust_id > b.cust_id AND c.city = 'Oslo';
-- view: nested_exists | expect: incremental
SELECT c.name FROM customers c WHERE EXISTS (SELECT 1 FROM orders o WHERE o.cust_id = c.cust_id AND EXISTS (SELECT 1 FROM items i WHERE i.order_id = o.order_id AND i.qty > 1));
-- view: except_all_of_itself | expect: incremental
SELECT status FROM orders EXCEPT ALL SELECT status FROM orders WHERE channel = 'web';
-- view: intersect_all_then_union | expect: incremental
SELECT city FROM customers INTERSECT ALL SELECT city FROM targets UNION SELECT page FROM visits;
-- view: union_of_top_k | expect: incremental
(SELECT prod_id FROM products ORDER BY price DESC, prod_id LIMIT 2) UNION ALL (SELECT prod_id FROM products ORDER BY price, prod_id LIMIT 2);
-- view: join_with_top_k | expect: incremental
SELECT o.order_id, t.prod_id FROM orders o JOIN (SELECT * FROM items ORDER BY qty DESC, order_id, line LIMIT 4) t ON t.order_id = o.order_id;
-- view: top_k_of_groups_below | expect: incremental
SELECT city, n FROM (SELECT city, count(*) AS n FROM customers GROUP BY city ORDER BY n DESC, city LIMIT 2) ORDER BY city;
-- view: mean_of_groups_crossed | expect: incremental
WITH a AS (SELECT cust_id, sum(qty) AS q FROM items JOIN orders USING (order_id) GROUP BY cust_id), b AS (SELECT avg(q) AS m FROM a) SELECT a.cust_id FROM a, b WHERE a.q > b.m;
-- view: subqueries_side_by_side | expect: incremental
SELECT c.cust_id, (SELECT sum(i.qty) FROM items i JOIN orders o ON o.order_id = i.order_id WHERE o.cust_id = c.cust_id) AS q, (SELECT max(price) FROM products) AS mp FROM customers c;
-- view: case_of_marks | expect: incremental
SELECT cust_id, CASE WHEN EXISTS (SELECT 1 FROM blocked b WHERE b.cust_id = c.cust_id) THEN 'b' WHEN cust_id IN (SELECT cust_id FROM visits) THEN 'v' END AS kind FROM customers c;
-- view: full_join_of_groups | expect: incremental
SELECT coalesce(a.cust_id, b.cust_id) AS id, a.n, b.m FROM (SELECT cust_id, count(*) AS n FROM orders GROUP BY 1) a FULL JOIN (SELECT cust_id, count(*) AS m FROM visits GROUP BY 1) b ON a.cust_id <=> b.cust_id;
-- view: strings_and_hashes | expect: incremental | on: spark
SELECT hash(name) AS h, md5(name) AS m, substr(name, 2) AS s, regexp_replace(name, '[aeiou]', '_') AS r FROM customers;
-- view: safe_division | expect: incremental
SELECT order_id, try_divide(qty, line - 1) AS d, nullif(qty, 2) AS n, greatest(qty, line) AS g, if(qty > 2, 'x', 'y') AS i FROM items;
-- view: filtered_aggregates_with_having | expect: incremental
SELECT status, sum(order_id) FILTER (WHERE channel = 'web') AS w, avg(order_id) FILTER (WHERE channel = 'app') AS a FROM orders GROUP BY status HAVING sum(order_id) > 100;
-- view: groups_of_self_join | expect: incremental
SELECT a.city, b.city AS c2, count(*) AS n FROM customers a JOIN customers b ON a.referrer_id = b.cust_id GROUP BY a.city, b.city;
-- view: groups_of_groups_joined | expect: incremental
SELECT c.segment, sum(t.s) AS s FROM customers c JOIN (SELECT o.cust_id, sum(i.qty * p.price * (1 - coalesce(i.discount, 0))) AS s FROM orders o JOIN items i ON i.order_id = o.order_id JOIN products p ON p.prod_id = i.prod_id GROUP BY o.cust_id) t ON t.cust_id = c.cust_id GROUP BY c.segment;
-- view: having_above_a_mean | expect: incremental
SELECT order_id, sum(qty) AS q FROM items GROUP BY order_id HAVING sum(qty) > (SELECT avg(qty) FROM items);
-- view: groups_of_the_largest_size | expect: incremental
SELECT order_id FROM items GROUP BY order_id HAVING count(*) = (SELECT max(n) FROM (SELECT count(*) AS n FROM items GROUP BY order_id));
-- view: sessions_by_gap | expect: incremental
SELECT session, count(*) AS n FROM (SELECT order_id, sum(gap) OVER (ORDER BY placed, order_id) AS session FROM (SELECT order_id, placed, CASE WHEN datediff(placed, lag(placed) OVER (ORDER BY placed, order_id)) > 1 THEN 1 ELSE 0 END AS gap FROM orders)) GROUP BY session;
-- view: cumulative_and_difference | expect: incremental
SELECT city, month, goal, sum(goal) OVER (PARTITION BY city ORDER BY month) AS cum, goal - lag(goal) OVER (PARTITION BY city ORDER BY month) AS diff FROM targets;
-- view: left_join_on_or | expect: incremental
SELECT v.page, p.title FROM visits v LEFT JOIN products p ON length(v.page) = length(p.title) OR v.seconds > p.price;
-- view: count_of_not_in | expect: incremental
SELECT count(*) AS n FROM visits v WHERE v.cust_id NOT IN (SELECT cust_id FROM blocked WHERE reason IS NOT NULL);
-- view: minus | expect: incremental
SELECT cust_id FROM customers MINUS SELECT cust_id FROM blocked;
-- view: from_first | expect: incremental
FROM orders SELECT status, count(*) AS n GROUP BY status;
-- view: top_k_with_offset_nulls | expect: incremental
SELECT cust_id, max(seconds) AS m FROM visits GROUP BY cust_id ORDER BY m DESC NULLS LAST, cust_id LIMIT 3 OFFSET 1;
-- view: bits | expect: incremental
SELECT bit_and(qty) AS a, bit_or(qty) AS o, bit_xor(qty) AS x FROM items;
-- view: moments | expect: incremental
SELECT order_id, skewness(qty) AS s, kurtosis(qty) AS k FROM items GROUP BY order_id;
-- view: slope | expect: incremental
SELECT order_id, regr_slope(rating, qty) AS s FROM items GROUP BY order_id;
-- view: decimal_double_and_float_sums | expect: incremental
SELECT category, sum(price) AS s, sum(CAST(price AS DOUBLE)) AS d, avg(CAST(price AS FLOAT)) AS f FROM products GROUP BY category;
-- view: group_by_date_format | expect: incremental
SELECT DATE_FORMAT(placed, 'yyyy-MM') AS ym, count(*) AS n FROM orders GROUP BY DATE_FORMAT(placed, 'yyyy-MM');
-- view: pipe_syntax | expect: incremental
SELECT * FROM orders |> WHERE status = 'paid' |> AGGREGATE count(*) AS n GROUP BY channel;
-- view: grouping_sets_with_distinct | expect: incremental
SELECT grouping_id(city, segment) AS g, city, segment, count(DISTINCT name) AS n FROM customers GROUP BY GROUPING SETS ((city, segment), (city), ());
-- view: anti_join_on_a_range | expect: incremental
SELECT o.order_id, o.cust_id FROM orders o ANTI JOIN items i ON i.order_id = o.order_id AND i.qty > o.cust_id;
-- view: semi_join_with_itself | expect: incremental
SELECT a.page FROM visits a SEMI JOIN visits b ON a.cust_id <> b.cust_id AND a.page = b.page;
-- view: join_on_or_with_filter | expect: incremental
SELECT c.name, o.status FROM customers c JOIN orders o ON c.cust_id = o.cust_id AND (o.status = 'paid' OR c.city = 'Oslo') WHERE coalesce(o.channel, 'x') <> 'shop';
-- view: filter_above_window | expect: incremental
SELECT s.name, s.n FROM (SELECT c.name, count(*) OVER (PARTITION BY c.city) AS n, c.city FROM customers c) s WHERE s.n > 1 AND s.city IS NOT NULL;
-- view: mean_of_the_others | expect: incremental
SELECT i.order_id, i.line, p.price, (SELECT avg(q.price) FROM products q WHERE q.category = p.category AND q.prod_id <> p.prod_id) AS peers FROM items i JOIN products p ON p.prod_id = i.prod_id;
-- view: first_by_order_and_limit | expect: incremental
SELECT c.name, (SELECT o.status FROM orders o WHERE o.cust_id = c.cust_id ORDER BY o.order_id LIMIT 1) AS first_status FROM customers c;
-- view: correlated_with_groups | expect: incremental
SELECT city, (SELECT sum(goal) FROM targets t WHERE t.city = c.city AND t.month >= c.n) AS g FROM (SELECT city, count(*) AS n FROM customers GROUP BY city) c;
-- view: every_and_some | expect: incremental | on: spark
SELECT page, any_value(seconds) IS NULL AS a, every(seconds > 5) AS e, some(seconds > 20) AS s FROM visits GROUP BY page;
-- view: posexplode_groups | expect: incremental | on: spark
SELECT t.pos, t.tag, count(*) AS n FROM products p LATERAL VIEW posexplode(p.tags) t AS pos, tag GROUP BY t.pos, t.tag;
-- view: arrays_overlap | expect: incremental | on: spark
SELECT p.prod_id, q.prod_id AS other FROM products p JOIN products q ON arrays_overlap(p.tags, q.tags) AND p.prod_id < q.prod_id;
-- view: stack | expect: incremental | on: spark
SELECT w.k, sum(w.val) AS s FROM (SELECT stack(2, 'a', prod_id, 'b', CAST(price AS INT)) AS (k, val) FROM products) w GROUP BY w.k;
-- view: with_cube | expect: incremental
SELECT city, segment, sum(cust_id) AS s FROM customers GROUP BY city, segment WITH CUBE;
-- view: with_rollup | expect: incremental
SELECT city, segment, sum(cust_id) AS s FROM customers GROUP BY city, segment WITH ROLLUP;
-- view: keys_then_grouping_sets | expect: incremental | on: spark
SELECT segment, city, grouping_id() AS g, sum(cust_id) AS s FROM customers GROUP BY segment, city GROUPING SETS ((city), (segment), ());
-- view: keys_then_one_grouping_set | expect: incremental
SELECT segment, count(*) AS s FROM customers GROUP BY segment, city GROUPING SETS ((segment));
-- view: pivot_count_beside_a_date | expect: incremental | on: spark
SELECT * FROM (SELECT * FROM orders WHERE status = 'paid') PIVOT (count(order_id) AS n, max(placed) AS last FOR channel IN ('web', 'app'));
-- view: pivot_two_numbers | expect: incremental | on: spark
SELECT * FROM (SELECT status, channel, order_id FROM orders) PIVOT (count(order_id) AS n, max(order_id) AS last FOR channel IN ('web', 'app'));
-- view: pivot_count_of_null | expect: incremental | on: spark
SELECT * FROM (SELECT status, channel, order_id FROM orders) PIVOT (count(order_id) FOR channel IN ('web', 'app', NULL AS none));
-- view: pivot_dates | expect: incremental
SELECT * FROM (SELECT status, channel, placed FROM orders) PIVOT (max(placed) FOR channel IN ('web', 'app'));
-- view: unpivot | expect: incremental
SELECT * FROM (SELECT prod_id, CAST(price AS INT) AS a, prod_id * 2 AS b FROM products) UNPIVOT (val FOR k IN (a, b));
-- view: unpivot_with_nulls | expect: incremental
SELECT k, sum(val) AS s FROM (SELECT order_id, line, qty, line AS l2, CAST(rating AS INT) AS r FROM items) UNPIVOT INCLUDE NULLS (val FOR k IN (qty AS q, r)) GROUP BY k;
-- view: unpivot_of_pairs | expect: incremental | on: spark
SELECT * FROM items UNPIVOT ((v1, v2) FOR k IN ((line, qty) AS x, (qty, prod_id)));
-- view: percentile_within_group | expect: incremental
SELECT percentile_cont(0.5) WITHIN GROUP (ORDER BY rating) AS p, percentile_disc(0.3) WITHIN GROUP (ORDER BY rating DESC) AS d FROM items;
-- view: percentile_within_group_of_groups | expect: incremental
SELECT order_id, percentile_cont(0.5) WITHIN GROUP (ORDER BY rating) AS p FROM items GROUP BY order_id;
-- view: listagg_without_delimiter | expect: incremental
SELECT cust_id, listagg(page) WITHIN GROUP (ORDER BY page) AS pages FROM visits GROUP BY cust_id;
-- view: to_char_and_unix_date | expect: incremental | on: spark
SELECT order_id, to_char(order_id, '999') AS c, unix_date(placed) AS u FROM orders;
-- view: max_by_of_several | expect: incremental | on: spark
SELECT order_id, max_by(prod_id, line, 2) AS m FROM items GROUP BY order_id;
-- view: tumbling_window | expect: incremental | on: spark
SELECT window.start AS s, window.end AS e, count(*) AS n FROM orders GROUP BY window(placed, '2 days');
-- view: tumbling_window_and_key | expect: incremental | on: spark
SELECT window(placed, '2 days') AS w, status, count(*) AS n, max(order_id) AS m FROM orders GROUP BY window(placed, '2 days'), status HAVING count(*) > 0;
-- view: tumbling_window_over_join | expect: incremental | on: spark
SELECT c.city, window.start AS s, count(*) AS n FROM customers c JOIN orders o USING (cust_id) GROUP BY c.city, window(c.joined, '7 days');
-- view: sliding_window | expect: full | on: spark
SELECT window(placed, '4 days', '2 days').start AS s, count(*) AS n FROM orders GROUP BY window(placed, '4 days', '2 days');
-- view: session_window | expect: full | on: spark
SELECT session_window(placed, '2 days') AS s, count(*) AS n FROM orders GROUP BY session_window(placed, '2 days');
-- view: window_of_each_row | expect: full | on: spark
SELECT window(joined, '2 days').start AS s, cust_id FROM customers;
-- view: bitmap_of_all | expect: incremental | on: spark
SELECT bitmap_count(bitmap_construct_agg(bitmap_bit_position(cust_id))) AS n FROM customers;
-- view: approximate_top_k | expect: incremental | on: spark
SELECT approx_top_k(cust_id, 2) AS k FROM visits;
-- view: subquery_in_on | expect: incremental
SELECT o.order_id, c.name FROM orders o JOIN customers c ON o.cust_id = c.cust_id AND o.cust_id IN (SELECT cust_id FROM visits);
-- view: subquery_in_on_of_left_join | expect: incremental
SELECT o.order_id, c.name FROM orders o LEFT JOIN customers c ON o.cust_id = c.cust_id AND c.cust_id IN (SELECT cust_id FROM visits);
-- view: running_sum_of_all | expect: incremental
SELECT order_id, line, sum(qty) OVER (ORDER BY order_id, line ROWS UNBOUNDED PRECEDING) AS s FROM items;
-- view: dates_and_intervals | expect: incremental
SELECT order_id FROM orders WHERE placed > DATE'2025-03-01' - INTERVAL '3' DAY AND placed < add_months(DATE'2025-03-01', 2);
-- view: likes | expect: incremental | on: spark
SELECT order_id, status RLIKE '^p.*d$' AS r, status LIKE ANY ('p%', 'o%') AS a, status ILIKE 'PAID' AS i, channel IS NOT DISTINCT FROM 'web' AS d FROM orders;
-- view: string_literals | expect: incremental | on: spark
SELECT 'a\tb\'c' AS x, "dq" AS y, r'raw\n' AS z, order_id FROM orders;
-- view: number_literals | expect: incremental | on: spark
SELECT order_id, 1L AS l, 2S AS s, 3Y AS y, 1.5BD AS b, 1e3 AS e, 2.5F AS f, 1.0D AS d FROM orders;
-- view: operators_and_arrays | expect: incremental | on: spark
SELECT prod_id, tags[0] IS NULL AS t, try_element_at(tags, 1) AS e, price div 2 AS dv, price % 3 AS md, -price AS neg, ~prod_id AS bn FROM products WHERE size(tags) > 0;
-- view: collation | expect: incremental | on: spark
SELECT cust_id, name || ' ' || city AS nc, name COLLATE UTF8_LCASE = 'ada' AS c FROM customers;
-- view: group_by_all_having_alias | expect: incremental
SELECT cust_id, page, count(*) AS n FROM visits GROUP BY ALL HAVING n > 1;
-- view: alias_of_the_same_list | expect: incremental
SELECT cust_id + 1 AS a, a * 2 AS b FROM customers;
-- view: exists_over_groups | expect: incremental
SELECT o.order_id, o.status FROM orders AS o WHERE EXISTS (SELECT 1 FROM items WHERE items.order_id = o.order_id GROUP BY items.order_id HAVING count(*) > 1);
-- view: values_left_join | expect: incremental
SELECT * FROM (VALUES (1, 'x'), (2, 'y')) v(id, nm) LEFT JOIN customers c ON c.cust_id = v.id;
-- view: windows_of_floats_over_bag | expect: full
SELECT cust_id, sum(seconds) OVER (PARTITION BY cust_id) AS s, avg(seconds) OVER () AS a FROM visits;
-- view: range_left_join | expect: incremental | on: spark
SELECT id, o.status FROM range(100, 105) r LEFT JOIN orders o ON o.order_id = r.id;
-- view: days_of_a_sequence | expect: incremental | on: spark
SELECT c.name, d.day FROM customers c, (SELECT explode(sequence(DATE'2025-03-01', DATE'2025-03-03')) AS day) d WHERE c.joined < d.day;
-- view: coalesced_count | expect: incremental
SELECT c.name, coalesce(o.n, 0) AS n FROM customers c LEFT JOIN (SELECT cust_id, count(*) AS n FROM orders WHERE placed >= DATE'2025-03-02' GROUP BY cust_id) o ON o.cust_id = c.cust_id WHERE coalesce(o.n, 0) < 2 ORDER BY name;
-- view: cube_of_an_expression | expect: incremental
SELECT qty % 2 AS odd, line, sum(qty) AS s, grouping_id(qty % 2, line) AS g FROM items GROUP BY CUBE (qty % 2, line);
-- view: number_equals_text | expect: incremental
SELECT c.cust_id, o.order_id FROM customers c JOIN orders o ON CAST(o.cust_id AS STRING) = c.cust_id;
-- view: partners_by_text | expect: incremental
SELECT c.cust_id, count(o.order_id) AS n, max(o.status) AS m FROM customers c LEFT JOIN orders o ON CAST(o.cust_id AS STRING) = c.cust_id GROUP BY c.cust_id;
-- view: types_of_a_union | expect: incremental
SELECT CAST(v AS STRING) AS s FROM (SELECT cust_id AS v FROM customers UNION ALL SELECT price FROM products) z WHERE v > 1;
-- view: types_of_an_except | expect: incremental
SELECT CAST(v AS STRING) AS s, v FROM (SELECT prod_id AS v FROM items EXCEPT SELECT price FROM products) z;
-- view: distinct_in_a_lateral | expect: incremental
SELECT c.cust_id, l.paid FROM customers c JOIN LATERAL (SELECT DISTINCT o.status = 'paid' AS paid FROM orders o WHERE o.order_id % 3 = c.cust_id % 3) l ON true;
-- view: groups_by_structs | expect: incremental
SELECT s, count(DISTINCT order_id) AS n FROM (SELECT named_struct('p', prod_id, 'q', qty > 1) AS s, order_id FROM items) q GROUP BY s;
